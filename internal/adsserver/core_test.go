package adsserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

func pass(d time.Duration) { <-time.NewTimer(d).C; synctest.Wait() }

func newCore(t *testing.T, config Config) (*source.Memory, *Core) {
	t.Helper()
	m := source.NewMemory()
	config.Source = m
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return m, c
}

func commit(t *testing.T, m *source.Memory, tx *source.Tx) {
	t.Helper()
	if _, err := m.Commit(t.Context(), tx); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func put(url, name, value string) source.Resource {
	return source.Resource{Key: key(url, name), Body: []byte(name + "=" + value)}
}

// read reads all responses, and returns a text for each.
func (n *naive) read() (list []string) {
	for {
		at := len(n.log)
		if !n.next("") {
			return list
		}
		list = append(list, n.log[at])
	}
}

func (n *naive) readDelta(t *testing.T) (list []*discoveryv3.DeltaDiscoveryResponse) {
	t.Helper()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for {
		pieces, err := n.stream.Next(ended)
		if err != nil {
			return list
		}
		r := new(discoveryv3.DeltaDiscoveryResponse)
		if err := proto.Unmarshal(slices.Concat(pieces...), r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
}

const listener, route = listenerURL, routeURL

// Additions come in the order of their use, and removals in the reverse order.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		urls := []string{route, pairURL, endpointURL, listener, clusterURL}
		add, remove := new(source.Tx), new(source.Tx)
		for _, url := range urls {
			n.change(url, []string{"a", "b"}, nil)
			add.Put(put(url, "a", "1")).Put(put(url, "b", "1"))
			remove.Put(put(url, "a", "2")).Delete(key(url, "b"))
		}
		synctest.Wait()
		n.readDelta(t)
		commit(t, m, add)
		n.readDelta(t)
		commit(t, m, remove)
		var got []string
		for _, r := range n.readDelta(t) {
			got = append(got, fmt.Sprintf("%s +%d -%d", r.GetTypeUrl(), len(r.GetResources()), len(r.GetRemovedResources())))
		}
		var want []string
		order := []string{clusterURL, endpointURL, listener, route, pairURL}
		for _, url := range order {
			want = append(want, url+" +1 -0")
		}
		for _, url := range slices.Backward(order) {
			want = append(want, url+" +0 -1")
		}
		if !slices.Equal(got, want) {
			t.Errorf("responses %q, want %q", got, want)
		}
	})
}

func TestHeartbeats(t *testing.T) {
	for _, delta := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, c := newCore(t, Config{})
			n := newNaive(t, c, delta)
			n.change(pairURL, []string{"one", "two"}, nil)
			r := put(pairURL, "one", "1")
			r.TTL = 3 * time.Second
			commit(t, m, new(source.Tx).Put(r).Put(put(pairURL, "two", "1")))
			n.read()
			for range 5 {
				pass(1100 * time.Millisecond)
				if got := n.read(); len(got) != 1 || n.of(pairURL).has["two"] != "two=1" {
					t.Fatalf("delta = %t: responses %q, want one heartbeat", delta, got)
				}
			}
			pass(time.Minute) // a client that does not read
			if got := n.read(); len(got) != 1 {
				t.Errorf("delta = %t: %d responses after a minute, want 1", delta, len(got))
			}
		})
	}
}

// Neither a source that renews the expiry nor another client, which subscribes, unsubscribes and reconnects, postpones
// a heartbeat.
func TestNothingPostponesHeartbeats(t *testing.T) {
	renew := func(m *source.Memory, r source.Resource) {
		r.Expires = time.Now().Add(time.Hour)
		commit(t, m, new(source.Tx).Put(r))
	}
	for name, disturb := range map[string]func(m *source.Memory, r source.Resource, other *naive, i int){
		"nothing":        func(*source.Memory, source.Resource, *naive, int) {},
		"renewals":       func(m *source.Memory, r source.Resource, _ *naive, _ int) { renew(m, r) },
		"another client": func(_ *source.Memory, _ source.Resource, other *naive, _ int) { other.connect() },
		"a wildcard":     toggle,
		"renewals and a wildcard": func(m *source.Memory, r source.Resource, other *naive, i int) {
			renew(m, r)
			toggle(m, r, other, i)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, c := newCore(t, Config{})
			n, other := newNaive(t, c, true), newNaive(t, c, true)
			n.change(clusterURL, []string{"one"}, nil)
			other.change(clusterURL, []string{"one", source.Wildcard}, nil)
			r := put(clusterURL, "one", "1")
			r.TTL = 6 * time.Second
			renew(m, r)
			n.read()
			beats := 0
			for i := range 120 {
				pass(500 * time.Millisecond)
				beats += len(n.read())
				disturb(m, r, other, i)
				synctest.Wait()
			}
			if beats != 30 && beats != 29 {
				t.Errorf("%s: %d heartbeats in a minute with a TTL of 6 s, want 30", name, beats)
			}
		})
	}
}

// toggle ends and renews the other client's subscription to the wildcard.
func toggle(_ *source.Memory, _ source.Resource, other *naive, i int) {
	if i%2 == 0 {
		other.change(clusterURL, nil, []string{source.Wildcard})
	} else {
		other.change(clusterURL, []string{source.Wildcard}, nil)
	}
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"a"}, nil)
		r := put(clusterURL, "a", "1")
		r.Expires = time.Now().Add(time.Minute)
		commit(t, m, new(source.Tx).Put(r))
		n.read()
		c.mu.Lock()
		if next := c.timers.next; !next.Equal(r.Expires) {
			t.Errorf("the timer is set for %v; a resource without a TTL needs none before %v", next, r.Expires)
		}
		c.mu.Unlock()
		pass(59 * time.Second)
		if got := n.read(); len(got) != 0 {
			t.Errorf("responses %q before the expiry", got)
		}
		pass(2 * time.Second)
		n.read()
		if !n.of(clusterURL).gone["a"] {
			t.Errorf("the client still has %v after the expiry", n.of(clusterURL).has)
		}
	})
}

// Names of a source that has not reported anything stay unanswered.
func TestUnknownNamesStayUnanswered(t *testing.T) {
	for _, delta := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m, c := newCore(t, Config{})
			m.SetState(source.State{})
			synctest.Wait()
			n := newNaive(t, c, delta)
			n.change(clusterURL, []string{"a", source.Wildcard}, nil)
			synctest.Wait()
			if got := n.read(); len(got) != 0 {
				t.Errorf("delta = %t: responses %q of a source without a state", delta, got)
			}
		})
	}
}

// A client that does not read costs no more than its names, and receives the newest state.
func TestAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"a", "b"}, nil)
		for i := range 10_000 {
			commit(t, m, new(source.Tx).Put(put(clusterURL, "a", fmt.Sprint(i))).Put(put(clusterURL, "b", fmt.Sprint(i))))
		}
		if got := cap(n.stream.kinds[0].dirty); got > 64 {
			t.Errorf("the stream keeps %d marks for 2 names", got)
		}
		if got := n.read(); len(got) != 1 || n.of(clusterURL).has["b"] != "b=9999" {
			t.Errorf("%d responses and %q, want the newest state in one", len(got), n.of(clusterURL).has)
		}
	})
}

// Streams share encoded resources, and one buffer for a set that two of them need.
func TestSharedBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		var streams []*Stream
		for range 3 {
			n := newNaive(t, c, true)
			n.change(clusterURL, []string{"a", "b"}, nil)
			streams = append(streams, n.stream)
		}
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")).Put(put(clusterURL, "b", "1")))
		var all [][][]byte
		for _, st := range streams {
			pieces, err := st.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pieces)
		}
		if len(all[0]) != 3 || len(all[1]) != 2 || len(all[2]) != 2 || &all[1][0][0] != &all[2][0][0] {
			t.Errorf("the streams get %d, %d and %d pieces; want each resource for the first, and one buffer for the others", len(all[0]), len(all[1]), len(all[2]))
		}
		h := &c.types[clusterURL].shared
		if len(h.joints) != 1 || len(h.seen) != 1 {
			t.Errorf("%d buffers and %d digests are kept, want 1 and 1", len(h.joints), len(h.seen))
		}
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "2")))
		if len(h.joints)+len(h.seen) != 0 {
			t.Errorf("%d buffers and %d digests are kept after a change, want none", len(h.joints), len(h.seen))
		}
	})
}

// Clients that need ever other batches do not make the shared buffers grow.
func TestSharedBuffersAreBounded(t *testing.T) {
	_, c := newCore(t, Config{})
	k := c.kindOf(Type{URL: clusterURL, Complete: true})
	h := &k.shared
	a := put(clusterURL, "a", "1")
	first := newContent(&a, 1)
	encode := func(stamp uint64) int {
		pieces, _, _ := h.encode(k, true, []*content{first, newContent(&a, stamp)})
		return len(pieces)
	}
	for i := range uint64(maxSeen) {
		encode(2 + i)
	}
	if n := len(h.seen); n != maxSeen {
		t.Errorf("%d digests are kept, want %d", n, maxSeen)
	}
	encode(2 + maxSeen)
	if n := len(h.seen); n != 1 {
		t.Errorf("%d digests are kept after one more than the bound, want 1", n)
	}
	for i := range uint64(maxJoints) {
		second := newContent(&a, 2+i)
		h.encode(k, true, []*content{first, second})
		h.encode(k, true, []*content{first, second})
	}
	if n := len(h.joints); n != maxJoints {
		t.Errorf("%d buffers are kept, want %d", n, maxJoints)
	}
	last := []*content{first, newContent(&a, 2+maxJoints)}
	h.encode(k, true, last)
	h.encode(k, true, last)
	if n := len(h.joints); n != 1 || h.bytes != len(h.joints[digestOf(last, true)].joined()) {
		t.Errorf("%d buffers of %d bytes are kept after one more than the bound, want 1 with its bytes", n, h.bytes)
	}
	h.bytes = maxJointBytes - 2*len(first.field(k, true)) // room for exactly one more
	other := []*content{first, newContent(&a, 9_999_999)}
	for range 2 {
		h.encode(k, true, other)
	}
	if n := len(h.joints); n != 2 {
		t.Errorf("%d buffers are kept at the bound of bytes, want 2", n)
	}
}

// Nothing remains of what nobody subscribes to any longer.
func TestStateIsBoundedByWhatIsSubscribed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		tx := new(source.Tx)
		for i := range 1000 {
			tx.Put(put(clusterURL, fmt.Sprint(i), "1"))
		}
		commit(t, m, tx)
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"1", "2"}, nil)
		synctest.Wait()
		if k := c.types[clusterURL]; len(k.entries) != 2 {
			t.Errorf("%d entries for 2 subscriptions", len(k.entries))
		}
		n.change(clusterURL, []string{source.Wildcard}, nil)
		synctest.Wait()
		n.read()
		if k := c.types[clusterURL]; len(k.entries) != 1000 {
			t.Errorf("%d entries for a wildcard of 1,000", len(k.entries))
		}
		n.change(clusterURL, nil, []string{source.Wildcard})
		synctest.Wait()
		if k := c.types[clusterURL]; len(k.entries) != 2 {
			t.Errorf("%d entries after the wildcard", len(k.entries))
		}
		n.stream.Close(context.Canceled)
		if len(c.types) != 0 || len(c.streams) != 0 {
			t.Errorf("%d types and %d streams after the last stream", len(c.types), len(c.streams))
		}
	})
}

func TestLimitsOfAClient(t *testing.T) {
	for name, r := range map[string]*discoveryv3.DeltaDiscoveryRequest{
		"names":            {TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a", "b", "c", "d"}},
		"length of a name": {TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a very long name"}},
		"types":            {TypeUrl: routeURL, ResourceNamesSubscribe: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, c := newCore(t, Config{Limits: Limits{Names: 3, NameBytes: 10, Types: 2}, Type: AnyType})
			c.config.Limits.NameBytes = 60 // of type URLs
			n := newNaive(t, c, true)
			n.change(listenerURL, []string{"a"}, nil)
			n.change(clusterURL, []string{"b"}, nil)
			if name == "length of a name" {
				c.config.Limits.NameBytes = 10
				r.TypeUrl = ""
			}
			raw, err := proto.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var limit *LimitError
			if err := n.stream.Request(raw); !errors.As(err, &limit) {
				t.Errorf("Request: %v, want a limit", err)
			}
			if _, err := n.stream.Next(t.Context()); !errors.As(err, &limit) {
				t.Errorf("Next: %v, want a limit", err)
			}
			if name == "types" && (limit.Value != 3 || limit.Max != 2) {
				t.Errorf("the error is %v, want 3 types and a limit of 2", limit)
			}
		})
	}
}

func TestMalformedRequests(t *testing.T) {
	for _, delta := range []bool{false, true} {
		_, c := newCore(t, Config{})
		for _, raw := range []string{"\xff", "\x1a\x01\xff", "\x2a\x02\x0a\xff"} {
			st, err := c.Open(delta)
			if err != nil {
				t.Fatal(err)
			}
			err = st.Request([]byte(raw))
			if !delta && raw == "\x2a\x02\x0a\xff" {
				continue // a nonce of the other variant
			}
			if !errors.Is(err, ErrMalformed) {
				t.Errorf("Request(%q), delta = %t: %v, want malformed", raw, delta, err)
			}
		}
	}
}

// No request makes the server panic.
func FuzzRequest(f *testing.F) {
	for _, m := range []proto.Message{
		&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"a", "*", glob + "*"}, InitialResourceVersions: map[string]string{"a": "1"}},
		&discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResourceNames: []string{"a", "*"}},
	} {
		raw, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(true, raw, raw)
		f.Add(false, raw, raw)
	}
	f.Fuzz(func(t *testing.T, delta bool, first, second []byte) {
		_, c := newCore(t, Config{})
		st, err := c.Open(delta)
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range [][]byte{first, second, first} {
			if st.Request(raw) != nil {
				break
			}
		}
		st.Close(context.Canceled)
		if len(c.types) != 0 {
			t.Error("state remains after the stream")
		}
	})
}

// In state of the world, a resource whose message has another name is wrapped.
func TestResourcesWithAnotherName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{Type: func(string) (Type, bool) {
			return Type{PeekName: func(body []byte) (string, error) {
				name, _, _ := strings.Cut(string(body), "=")
				return name, nil
			}}, true
		}})
		n := newNaive(t, c, false)
		n.change(pairURL, []string{"a", "b"}, nil)
		commit(t, m, new(source.Tx).Put(put(pairURL, "a", "1")).Put(source.Resource{Key: key(pairURL, "b"), Body: []byte("other=1")}))
		pieces, err := n.stream.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := new(discoveryv3.DiscoveryResponse)
		if err := proto.Unmarshal(slices.Concat(pieces...), r); err != nil {
			t.Fatal(err)
		}
		if a := r.GetResources(); len(a) != 2 || a[0].GetTypeUrl() != pairURL || a[1].GetTypeUrl() != wrapperURL {
			t.Errorf("resources = %v, want a plain one and a wrapped one", a)
		}
	})
}
