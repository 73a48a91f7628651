package adsserver

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

// reachable returns the size of all reachable objects, without the responses that streams share.
func reachable(c *Core) int {
	for _, k := range c.types {
		k.shared.clear()
	}
	runtime.GC()
	runtime.GC() // pools keep their content for one more
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// A memoryCost is a state of a stream whose memory the budget must have. The stream is ready for it.
type memoryCost struct {
	config Config
	stream StreamOptions
	n      int // names or other elements
	want   int // bytes of each
	// before prepares the stream, and act causes the memory.
	before, act func(t *testing.T, st *Stream)
}

// names are short: their lengths are in the budget in any case.
func requests(m func(i int) proto.Message, n int) func(*testing.T, *Stream) {
	return func(t *testing.T, st *Stream) {
		t.Helper()
		for i := range n {
			if err := st.Request(encoded(t, m(i))); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// drain reads responses until the stream has n resources.
func drain(t *testing.T, st *Stream, n int) {
	t.Helper()
	for has := 0; has < n; {
		if _, err := st.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		has = 0
		st.core.mu.Lock()
		for p := range st.kinds[0].subs.all() {
			if p.stamp != 0 {
				has++
			}
		}
		st.core.mu.Unlock()
	}
}

func memoryCosts() map[string]memoryCost {
	const n = 50_000
	list := make(map[string]memoryCost)
	full := source.NewMemory()
	tx := new(source.Tx)
	for _, name := range numbered("%d", n) {
		tx.Put(put(clusterURL, name, "1"))
	}
	if _, err := full.Commit(context.Background(), tx); err != nil {
		panic(err) // it is valid
	}
	for _, delta := range []bool{true, false} {
		named := func(format string, n int) func(*testing.T, *Stream) {
			m := proto.Message(wholeOf(numbered(format, n)))
			if delta {
				m = deltaOf(numbered(format, n), nil)
			}
			return requests(func(int) proto.Message { return m }, 1)
		}
		o := StreamOptions{Delta: delta}
		refused := StreamOptions{Delta: delta, Allow: func(string, string) bool { return false }}
		add := func(name string, m memoryCost) { list[fmt.Sprintf("%s, delta=%t", name, delta)] = m }
		failed := make(chan struct{}, 1)
		slow := Config{Source: silent{}, AnswerTimeout: time.Hour}
		late := Config{Source: silent{}, AnswerTimeout: time.Nanosecond, Changed: func() {
			select {
			case failed <- struct{}{}:
			default:
			}
		}}
		nothing := Config{Source: source.NewMemory()}
		add("names that do not exist", memoryCost{nothing, o, n, NameCost, nil, named("%d", n)})
		everything := requests(func(int) proto.Message {
			if delta {
				return deltaOf([]string{"*"}, nil)
			}
			return wholeOf(nil)
		}, 1)
		shared := func(t *testing.T, st *Stream) {
			t.Helper()
			other, err := st.core.Open(delta)
			if err != nil {
				t.Fatal(err)
			}
			everything(t, other)
			drain(t, other, n)
		}
		add("names that exist", memoryCost{Config{Source: full}, o, n, NameCost, shared, named("%d", n)})
		add("names without an answer", memoryCost{slow, o, n, NameCost, nil, named("%d", n)})
		add("names without an answer in time", memoryCost{late, o, n, NameCost, nil, func(t *testing.T, st *Stream) {
			named("%d", n)(t, st)
			for left := 1; left > 0; <-failed {
				st.core.mu.Lock()
				left = st.core.unanswered.len()
				st.core.mu.Unlock()
				if left == 0 {
					return
				}
			}
		}})
		add("names of another stream", memoryCost{nothing, o, n, subCost, func(t *testing.T, st *Stream) {
			other, err := st.core.Open(delta)
			if err != nil {
				t.Fatal(err)
			}
			named("%d", n)(t, other)
		}, named("%d", n)})
		add("members", memoryCost{Config{Source: full}, o, n, subCost, shared, func(t *testing.T, st *Stream) {
			everything(t, st)
			drain(t, st, n)
		}})
		add("names without permission", memoryCost{nothing, refused, n, refusedCost, nil, named("%d", n)})
		add("globs", memoryCost{nothing, o, 10_000 - 1, collectionCost, nil, named(globs, 10_000-1)})
		add("globs without an answer", memoryCost{slow, o, 10_000 - 1, collectionCost, nil, named(globs, 10_000-1)})
		typed := requests(func(i int) proto.Message {
			if delta {
				m := deltaOf([]string{"a"}, nil)
				m.TypeUrl = fmt.Sprint("type/", i)
				return m
			}
			m := wholeOf([]string{"a"})
			m.TypeUrl = fmt.Sprint("type/", i)
			return m
		}, 1000)
		add("types of another stream", memoryCost{Config{Source: source.NewMemory(), Limits: Limits{Types: 1000}}, o, 1000, typeCost + subCost, func(t *testing.T, st *Stream) {
			other, err := st.core.Open(delta)
			if err != nil {
				t.Fatal(err)
			}
			typed(t, other)
		}, typed})
	}
	return list
}

// TestMemoryCosts compares the memory that a client can cause with the part of its budget.
func TestMemoryCosts(t *testing.T) {
	for name, m := range memoryCosts() {
		t.Run(name, func(t *testing.T) {
			c, err := New(m.config)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			b := &Budget{Names: 1 << 30, Bytes: 1 << 30}
			m.stream.Budget = b
			st, err := c.OpenStream(m.stream)
			if err != nil {
				t.Fatal(err)
			}
			if m.before != nil {
				m.before(t, st)
			}
			charged, before := b.bytes, reachable(c)
			m.act(t, st)
			charged = b.bytes - charged
			got := (reachable(c) - before) / m.n
			t.Logf("%d bytes, charged %d", got, charged/m.n)
			if got > m.want {
				t.Errorf("it takes %d bytes, must be at most %d", got, m.want)
			}
			if charged < m.n*m.want {
				t.Errorf("the client is charged with %d bytes, want at least %d", charged/m.n, m.want)
			}
			st.Close(ErrClosed)
			if b.names != 0 || b.bytes != 0 {
				t.Errorf("the client is charged with %d names and %d bytes after its last stream", b.names, b.bytes)
			}
		})
	}
}
