// A load on a cluster by a client library for Go, until told to stop: what was asked, what failed, what was lost. Speaks as load.py does and does the same.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"
)

const (
	slots     = 16384
	parts     = 3
	shown     = 20
	timeout   = 5 * time.Second
	lastRound = 30 * time.Second
	sorry     = 20 * time.Millisecond
)

// What a load needs of a library.
type client interface {
	set(ctx context.Context, key, value string) error
	get(ctx context.Context, key string) (string, error) // "" where there is none
	close()
}

type library struct {
	module  string
	connect func(seeds []string, username, password, ca string) (client, error)
}

var libraries = map[string]library{"valkey-go": valkeyGo, "go-redis": goRedis}

type settings struct {
	Library    string   `json:"library"`
	Seeds      [][2]any `json:"seeds"`
	Username   string   `json:"username"`
	Password   string   `json:"password"`
	Prefix     string   `json:"prefix"`
	Trust      string   `json:"trust"` // "" without TLS
	FreshEvery *float64 `json:"fresh_every"`
	Keys       int      `json:"keys"`
	Warm       int      `json:"warm"`
	Pause      float64  `json:"pause"`
	LastRound  bool     `json:"last_round"`
}

type report struct {
	Requests   int      `json:"requests"`
	Failures   int      `json:"failures"`
	Complaints []string `json:"complaints"`
	Lost       []string `json:"lost"`
	WorstGap   float64  `json:"worst_gap"` // seconds
	Clients    int      `json:"clients"`
	Keys       int      `json:"keys"`
	Writes     int      `json:"writes"`
	Reads      int      `json:"reads"`
	Recovered  *bool    `json:"recovered"`
	Version    string   `json:"version"`
}

// What a key may hold: one value, unless a write of it failed. A write that succeeds makes a new one.
type held struct{ values []string }

type load struct {
	settings settings
	library  library
	stopping context.Context
	working  sync.Once

	lock   sync.Mutex // guards what is below
	report report
	last   time.Time // of the last success
	known  []string  // the keys, in the order of their first writes
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
	stopping, stop := context.WithCancel(context.Background())
	defer stop()
	l := &load{settings: told, library: libraries[told.Library], stopping: stopping, mayBe: map[string]*held{}}
	l.report.Complaints, l.report.Lost = []string{}, []string{}
	l.report.Version = version(l.library.module)
	var work sync.WaitGroup
	work.Go(l.steady)
	if told.FreshEvery != nil {
		work.Go(func() { l.fresh(seconds(*told.FreshEvery)) })
	}
	for {
		if _, err := input.ReadBytes('\n'); err != nil {
			break
		}
		l.measureAnew()
	}
	stop()
	work.Wait()
	l.report.Keys = len(l.known)
	return json.NewEncoder(os.Stdout).Encode(l.report)
}

func seconds(number float64) time.Duration { return time.Duration(number * float64(time.Second)) }

// The version of a module that this program is built of.
func version(module string) string {
	built, _ := debug.ReadBuildInfo()
	for _, dependency := range built.Deps {
		if dependency.Path == module {
			return dependency.Version[1:]
		}
	}
	return ""
}

// One client for all the time.
func (l *load) steady() {
	var c client
	inARow := 0
	for number := 0; l.stopping.Err() == nil; number++ {
		if c == nil {
			if c = l.connect(); c == nil {
				continue
			}
		}
		inARow++
		if !l.step(c, number) {
			inARow = 0
		}
		if inARow == l.settings.Warm {
			l.working.Do(func() { fmt.Println("working") })
		}
	}
	if c == nil {
		return
	}
	defer c.close()
	if l.settings.LastRound {
		recovered := l.lastRound(c)
		l.report.Recovered = &recovered
	}
	l.noteGap()
	l.lock.Lock()
	all := slices.Clone(l.known)
	l.lock.Unlock()
	for _, key := range all { // every key has its value in the end
		l.read(c, key)
	}
}

func (l *load) step(c client, number int) bool {
	done := l.writeAndRead(c, fmt.Sprintf("%s:steady:%d", l.settings.Prefix, number%l.settings.Keys), strconv.Itoa(number))
	if done {
		l.noteGap()
		l.lock.Lock()
		l.last = time.Now()
		l.lock.Unlock()
	}
	time.Sleep(seconds(l.settings.Pause))
	return done
}

// Whether every key was written and read in a row.
func (l *load) lastRound(c client) bool {
	inARow := 0
	for deadline := time.Now().Add(lastRound); inARow < l.settings.Keys && time.Now().Before(deadline); {
		if l.step(c, inARow) {
			inARow++
		} else {
			inARow = 0
		}
	}
	return inARow == l.settings.Keys
}

func (l *load) noteGap() {
	l.lock.Lock()
	defer l.lock.Unlock()
	if !l.last.IsZero() {
		l.report.WorstGap = max(l.report.WorstGap, time.Since(l.last).Seconds())
	}
}

func (l *load) measureAnew() {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.report.WorstGap, l.last = 0, time.Now()
}

// A new client each time, which asks every part of the cluster.
func (l *load) fresh(every time.Duration) {
	for number := 0; l.stopping.Err() == nil; number++ {
		next := time.After(every)
		if c := l.connect(); c != nil {
			l.lock.Lock()
			l.report.Clients++
			l.lock.Unlock()
			for part := range parts {
				l.writeAndRead(c, l.keyOf(number, part), strconv.Itoa(number))
			}
			c.close()
		}
		select {
		case <-next:
		case <-l.stopping.Done():
		}
	}
}

// A key whose slot lies in that one of three equal parts of all slots.
func (l *load) keyOf(number, part int) string {
	for {
		key := fmt.Sprintf("%s:fresh:%d:%d", l.settings.Prefix, number, rand.IntN(1e9))
		if slotOf(key)*parts/slots == part {
			return key
		}
	}
}

// CRC16 (XMODEM) of the key, which has no hash tag.
func slotOf(key string) int {
	sum := uint16(0)
	for _, letter := range []byte(key) {
		sum ^= uint16(letter) << 8
		for range 8 {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
	}
	return int(sum % slots)
}

func (l *load) connect() client {
	var seeds []string
	for _, seed := range l.settings.Seeds {
		seeds = append(seeds, net.JoinHostPort(fmt.Sprint(seed[0]), fmt.Sprint(seed[1])))
	}
	var c client
	l.attempt("connect", func(context.Context) (err error) {
		c, err = l.library.connect(seeds, l.settings.Username, l.settings.Password, l.settings.Trust)
		return err
	})
	return c
}

// Whether both succeeded; half of the time the read is of another key.
func (l *load) writeAndRead(c client, key, value string) bool {
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
		return c.set(ctx, key, value)
	})
	if written {
		l.lock.Lock()
		l.mayBe[key] = &held{values: []string{value}}
		l.report.Writes++
		l.lock.Unlock()
	}
	return l.read(c, other) && written
}

func (l *load) read(c client, key string) bool {
	l.lock.Lock()
	before := l.mayBe[key]
	l.lock.Unlock()
	var value string
	done := l.attempt("get "+key, func(ctx context.Context) (err error) {
		value, err = c.get(ctx, key)
		return err
	})
	l.lock.Lock()
	defer l.lock.Unlock()
	if done {
		l.report.Reads++
	}
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
