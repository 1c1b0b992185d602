// A load on a cluster by valkey-go, until told to stop: what was asked, what failed, what was lost. Speaks as load.py does and does the same.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/valkey-io/valkey-go"
)

const (
	slots   = 16384
	keys    = 400
	parts   = 3
	warm    = 20
	shown   = 20
	timeout = 5 * time.Second
	// All requests for a server wait while it is dialled, and nobody answers where a pod has just gone.
	dialing = time.Second
	pause   = 5 * time.Millisecond
	sorry   = 20 * time.Millisecond
)

type settings struct {
	Seeds      [][2]any `json:"seeds"`
	Username   string   `json:"username"`
	Password   string   `json:"password"`
	Prefix     string   `json:"prefix"`
	FreshEvery *float64 `json:"fresh_every"`
	Trust      *string  `json:"trust"`
}

type report struct {
	Requests   int      `json:"requests"`
	Failures   int      `json:"failures"`
	Complaints []string `json:"complaints"`
	Lost       []string `json:"lost"`
	WorstGap   float64  `json:"worst_gap"` // seconds
	Clients    int      `json:"clients"`
	Keys       int      `json:"keys"`
}

// What a key may hold: one value, unless a write of it failed. A write that succeeds makes a new one.
type held struct{ values []string }

type load struct {
	option   valkey.ClientOption
	prefix   string
	stopping context.Context
	working  sync.Once

	lock   sync.Mutex // guards what is below
	report report
	known  []string // the keys, in the order of their first writes
	mayBe  map[string]*held
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	input := bufio.NewReader(os.Stdin)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return err
	}
	var told settings
	if err := json.Unmarshal(line, &told); err != nil {
		return err
	}
	option, err := told.option()
	if err != nil {
		return err
	}
	stopping, stop := context.WithCancel(context.Background())
	defer stop()
	l := &load{option: option, prefix: told.Prefix, stopping: stopping, mayBe: map[string]*held{}}
	l.report.Complaints, l.report.Lost = []string{}, []string{}
	var work sync.WaitGroup
	work.Go(l.steady)
	if told.FreshEvery != nil {
		work.Go(func() { l.fresh(time.Duration(*told.FreshEvery * float64(time.Second))) })
	}
	if _, err := io.Copy(io.Discard, input); err != nil {
		return err
	}
	stop()
	work.Wait()
	l.report.Keys = len(l.known)
	return json.NewEncoder(os.Stdout).Encode(l.report)
}

// With TLS, chain and name are verified.
func (told settings) option() (valkey.ClientOption, error) {
	option := valkey.ClientOption{
		Username:         told.Username,
		Password:         told.Password,
		Dialer:           net.Dialer{Timeout: dialing},
		ConnWriteTimeout: timeout,
		DisableCache:     true,
	}
	for _, seed := range told.Seeds {
		option.InitAddress = append(option.InitAddress, net.JoinHostPort(fmt.Sprint(seed[0]), fmt.Sprint(seed[1])))
	}
	if told.Trust == nil {
		return option, nil
	}
	authorities, err := os.ReadFile(*told.Trust)
	if err != nil {
		return option, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authorities) {
		return option, errors.New("no certificate in " + *told.Trust)
	}
	option.TLSConfig = &tls.Config{RootCAs: pool}
	return option, nil
}

// One client for all the time.
func (l *load) steady() {
	var client valkey.Client
	var last time.Time
	gap := func() {
		if !last.IsZero() {
			l.report.WorstGap = max(l.report.WorstGap, time.Since(last).Seconds())
		}
	}
	for number := 0; l.stopping.Err() == nil; number++ {
		if client == nil {
			if client = l.connect(); client == nil {
				continue
			}
		}
		if l.writeAndRead(client, fmt.Sprintf("%s:steady:%d", l.prefix, number%keys), strconv.Itoa(number)) {
			gap()
			last = time.Now()
		}
		if number >= warm {
			l.working.Do(func() { fmt.Println("working") })
		}
		time.Sleep(pause)
	}
	gap()
	if client == nil {
		return
	}
	defer client.Close()
	l.lock.Lock()
	all := slices.Clone(l.known)
	l.lock.Unlock()
	for _, key := range all { // every key has its value in the end
		l.read(client, key)
	}
}

// A new client each time, which asks every part of the cluster.
func (l *load) fresh(every time.Duration) {
	for number := 0; l.stopping.Err() == nil; number++ {
		next := time.After(every)
		if client := l.connect(); client != nil {
			l.lock.Lock()
			l.report.Clients++
			l.lock.Unlock()
			for part := range parts {
				l.writeAndRead(client, l.keyOf(client, number, part), strconv.Itoa(number))
			}
			client.Close()
		}
		select {
		case <-next:
		case <-l.stopping.Done():
		}
	}
}

// A key whose slot lies in that one of three equal parts of all slots.
func (l *load) keyOf(client valkey.Client, number, part int) string {
	for {
		key := fmt.Sprintf("%s:fresh:%d:%d", l.prefix, number, rand.IntN(1e9))
		command := client.B().Get().Key(key).Build()
		if int(command.Slot())*parts/slots == part {
			return key
		}
	}
}

func (l *load) connect() valkey.Client {
	var client valkey.Client
	l.attempt("connect", func(context.Context) (err error) {
		client, err = valkey.NewClient(l.option)
		return err
	})
	return client
}

// Whether the read succeeded; half of the time it is of another key.
func (l *load) writeAndRead(client valkey.Client, key, value string) bool {
	l.lock.Lock()
	if l.mayBe[key] == nil {
		l.mayBe[key] = &held{values: []string{""}}
		l.known = append(l.known, key)
	}
	l.mayBe[key].values = append(l.mayBe[key].values, value)
	other := key
	if rand.IntN(2) == 0 {
		other = l.known[rand.IntN(len(l.known))]
	}
	l.lock.Unlock()
	written := l.attempt("set "+key, func(ctx context.Context) error {
		return client.Do(ctx, client.B().Set().Key(key).Value(value).Build()).Error()
	})
	if written {
		l.lock.Lock()
		l.mayBe[key] = &held{values: []string{value}}
		l.lock.Unlock()
	}
	return l.read(client, other)
}

func (l *load) read(client valkey.Client, key string) bool {
	l.lock.Lock()
	before := l.mayBe[key]
	l.lock.Unlock()
	var value string
	done := l.attempt("get "+key, func(ctx context.Context) (err error) {
		value, err = client.Do(ctx, client.B().Get().Key(key).Build()).ToString()
		if valkey.IsValkeyNil(err) {
			return nil
		}
		return err
	})
	l.lock.Lock()
	defer l.lock.Unlock()
	if done && l.mayBe[key] == before && !slices.Contains(before.values, value) { // nobody wrote it meanwhile
		l.report.Lost = append(l.report.Lost, fmt.Sprintf("%s: %q instead of %q", key, value, before.values))
	}
	return done
}

// Whether the request succeeded; a failure is counted as an application would see it.
func (l *load) attempt(what string, request func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	err := request(ctx)
	l.lock.Lock()
	l.report.Requests++
	if err != nil {
		l.report.Failures++
		if len(l.report.Complaints) < shown {
			now := float64(time.Now().UnixMilli()) / 1000
			l.report.Complaints = append(l.report.Complaints, fmt.Sprintf("%.3f %s: %v", now, what, err))
		}
	}
	l.lock.Unlock()
	if err != nil {
		time.Sleep(sorry)
	}
	return err == nil
}
