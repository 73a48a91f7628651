package adsserver

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// TestFleet runs random commits to a store, which two servers see at different times, and clients that move
// between the servers. At rest, every client has the state of the store. It never receives an older resource than it
// has, and no resource that it has in the same version.
func TestFleet(t *testing.T) {
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprintf("delta=%t", delta), func(t *testing.T) {
			for i := range *modelSequences {
				runFleet(t, *modelFirst+uint64(i), delta)
				if t.Failed() {
					t.Fatalf("seed %d", *modelFirst+uint64(i))
				}
			}
		})
	}
}

// A fleet is a store with two servers.
type fleet struct {
	world
	cores    [2]*Core
	stores   [2]*source.Memory // as the servers see the store
	pending  [2][]*source.Tx   // commits that a server has not seen
	seen     [2]source.Revision
	revision source.Revision
}

func runFleet(t *testing.T, seed uint64, delta bool) {
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{world: world{t: t, rnd: rand.New(rand.NewPCG(seed, 2)), expect: make(map[source.Key]source.Resource)}}
		config := Config{}
		if f.rnd.IntN(4) == 0 {
			config.Limits.ResponseBytes = 50 // divides every response
		}
		if f.rnd.IntN(3) == 0 {
			config.Coalesce = 200 * time.Millisecond
		}
		for i := range f.cores {
			f.stores[i] = source.NewMemory()
			config.Source = f.stores[i]
			var err error
			if f.cores[i], err = New(config); err != nil {
				t.Fatal(err)
			}
		}
		defer func() {
			for _, c := range f.cores {
				_ = c.Close()
			}
		}()
		f.core = f.cores[0]
		f.commit()
		f.deliver(0, 1)
		f.deliver(1, 1)
		for range 1 + f.rnd.IntN(3) {
			c := newNaive(t, f.cores[f.rnd.IntN(2)], delta)
			c.older = f.older
			c.change(clusterURL, names()[:4], nil)
			f.clients = append(f.clients, c)
		}
		for range 25 {
			f.step()
			if f.rnd.IntN(5) == 0 {
				f.rest()
			}
		}
		f.rest()
		if t.Failed() {
			t.Logf("store:\n%s", strings.Join(f.log, "\n"))
			for i, c := range f.clients {
				t.Logf("client %d:\n%s", i, strings.Join(c.log, "\n"))
			}
		}
	})
}

// older checks that a client does not go back. Bodies have the number of their commit.
func (f *fleet) older(_, had, body string) {
	number := func(s string) int {
		n, _ := strconv.Atoi(s[strings.LastIndexByte(s, '=')+1:])
		return n
	}
	if number(body) < number(had) {
		f.t.Errorf("a client that has %s receives the older %s", had, body)
	}
}

func (f *fleet) step() {
	c := f.clients[f.rnd.IntN(len(f.clients))]
	switch f.rnd.IntN(10) {
	case 0, 1:
		f.commit()
		f.deliver(f.rnd.IntN(2), len(f.pending[0])) // one server sees it at once
	case 2, 3:
		f.deliver(f.rnd.IntN(2), 1+f.rnd.IntN(3))
	case 4, 5:
		url := f.url()
		c.change(url, f.choose(c.of(url)), nil)
	case 6:
		url := f.url()
		if y := c.of(url); len(y.names) > 0 && y.asked && (c.delta || len(y.names) > 1) {
			all := slices.Sorted(maps.Keys(y.names))
			c.change(url, nil, all[f.rnd.IntN(len(all)):][:1])
		}
	case 7: // often from a server that the client has read to the end to one that has seen less
		for f.rnd.IntN(4) > 0 && c.next("") {
			continue
		}
		c.core = f.cores[f.rnd.IntN(2)]
		f.log = append(f.log, "move")
		c.connect()
		for f.rnd.IntN(4) > 0 {
			synctest.Wait()
			c.next("")
		}
	default:
		c.next("")
	}
	if f.rnd.IntN(2) == 0 {
		pass(time.Duration(f.rnd.IntN(30)) * time.Millisecond) // in total less than the limit of a wait
	}
}

// commit commits a transaction that no server has seen.
func (f *fleet) commit() {
	tx := new(source.Tx)
	f.revision++
	for range f.rnd.IntN(4) {
		n, url := names()[f.rnd.IntN(len(names())-2)], clusterURL
		if !strings.HasPrefix(n, "xdstp:") && f.rnd.IntN(3) == 0 {
			url = endpointURL
		}
		k := key(url, n)
		if f.rnd.IntN(5) == 0 {
			tx.Delete(k)
			delete(f.expect, k)
			f.mayResend(k)
			f.log = append(f.log, fmt.Sprintf("%d: delete %s", f.revision, k))
			continue
		}
		r := source.Resource{Key: k, Body: fmt.Appendf(nil, "%s=%d", n, f.revision)}
		r.Version = strconv.FormatUint(uint64(f.revision), 36) + "-" + source.Version(&r)
		f.put(tx, r)
	}
	for i := range f.pending {
		f.pending[i] = append(f.pending[i], tx)
	}
}

// deliver lets a server see commits.
func (f *fleet) deliver(i, n int) {
	for range min(n, len(f.pending[i])) {
		f.seen[i]++
		if err := f.stores[i].CommitAt(f.t.Context(), f.pending[i][0], "epoch", f.seen[i]); err != nil {
			f.t.Fatal(err)
		}
		f.pending[i] = f.pending[i][1:]
	}
}

// rest lets both servers see everything, and compares the clients with the store.
func (f *fleet) rest() {
	for i := range f.pending {
		f.deliver(i, len(f.pending[i]))
	}
	pass(300 * time.Millisecond)
	f.settle()
}
