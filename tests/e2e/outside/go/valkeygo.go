package main

// docs/clients.md shows this:
import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"time"

	"github.com/valkey-io/valkey-go"
)

func connectValkeyGo(seeds []string, username, password, ca string) (valkey.Client, error) {
	option := valkey.ClientOption{
		InitAddress: seeds,
		Username:    username,
		Password:    password,
		// All requests for a server wait while it is dialled, and nobody answers where a pod has just gone.
		Dialer:           net.Dialer{Timeout: time.Second},
		ConnWriteTimeout: 5 * time.Second,
		DisableCache:     true,
	}
	if ca != "" {
		authorities, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		option.TLSConfig = &tls.Config{RootCAs: x509.NewCertPool()} // without ServerName: each node's own is sent and verified
		option.TLSConfig.RootCAs.AppendCertsFromPEM(authorities)
	}
	return valkey.NewClient(option)
}

// That is all.

var valkeyGo = library{
	module: "github.com/valkey-io/valkey-go",
	connect: func(seeds []string, username, password, ca string) (client, error) {
		c, err := connectValkeyGo(seeds, username, password, ca)
		if err != nil {
			return nil, err
		}
		return ofValkeyGo{c}, nil
	},
}

type ofValkeyGo struct{ c valkey.Client }

func (of ofValkeyGo) set(ctx context.Context, key, value string) error {
	return of.c.Do(ctx, of.c.B().Set().Key(key).Value(value).Build()).Error()
}

func (of ofValkeyGo) get(ctx context.Context, key string) (string, error) {
	value, err := of.c.Do(ctx, of.c.B().Get().Key(key).Build()).ToString()
	if valkey.IsValkeyNil(err) {
		return "", nil
	}
	return value, err
}

func (of ofValkeyGo) close() { of.c.Close() }
