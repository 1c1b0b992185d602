package main

// docs/clients.md shows this:
import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

func connectGoRedis(seeds []string, username, password, ca string) (*redis.ClusterClient, error) {
	options := &redis.ClusterOptions{
		Addrs:       seeds,
		Username:    username,
		Password:    password,
		DialTimeout: time.Second,
		ReadTimeout: 5 * time.Second,
	}
	if ca != "" {
		authorities, err := os.ReadFile(ca)
		if err != nil {
			return nil, err
		}
		options.TLSConfig = &tls.Config{RootCAs: x509.NewCertPool()} // without ServerName: each node's own is sent and verified
		options.TLSConfig.RootCAs.AppendCertsFromPEM(authorities)
	}
	return redis.NewClusterClient(options), nil
}

// That is all.

var goRedis = library{
	module: "github.com/redis/go-redis/v9",
	connect: func(seeds []string, username, password, ca string) (client, error) {
		c, err := connectGoRedis(seeds, username, password, ca)
		if err != nil {
			return nil, err
		}
		return ofGoRedis{c}, nil
	},
}

type ofGoRedis struct{ c *redis.ClusterClient }

func (of ofGoRedis) set(ctx context.Context, key, value string) error {
	return of.c.Set(ctx, key, value, 0).Err()
}

func (of ofGoRedis) get(ctx context.Context, key string) (string, error) {
	value, err := of.c.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return value, err
}

func (of ofGoRedis) close() { _ = of.c.Close() }
