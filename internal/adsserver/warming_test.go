package adsserver

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

// newWarm returns a client in state of the world that has clusters a and b, and their endpoints.
func newWarm(t *testing.T, m *source.Memory, c *Core) *naive {
	t.Helper()
	n := newNaive(t, c, false)
	n.change(clusterURL, []string{"a", "b"}, nil)
	n.change(endpointURL, []string{"a", "b"}, nil)
	tx := new(source.Tx)
	for _, url := range []string{clusterURL, endpointURL} {
		tx.Put(put(url, "a", "1")).Put(put(url, "b", "1"))
	}
	commit(t, m, tx)
	n.read()
	return n
}

// endpoints reads all responses, and returns the endpoints in them.
func (n *naive) endpoints(t *testing.T) (names []string) {
	t.Helper()
	y := n.of(endpointURL)
	clear(y.seen)
	n.read()
	for name := range y.seen {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A client that warms a changed cluster repeats its request for endpoints, with the nonce that it has acknowledged.
// The server answers the request with all endpoints, and the acknowledgement of that with nothing.
func TestRepeatedRequestIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newWarm(t, m, c)
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "2")))
		if got := n.endpoints(t); len(got) > 0 {
			t.Fatalf("a changed cluster brings the endpoints %q, want none without a request", got)
		}
		for _, url := range []string{endpointURL, clusterURL} {
			y := n.of(url)
			clear(y.seen)
			n.ask(y, "")
			n.read()
			if !y.seen["a"] || !y.seen["b"] {
				t.Errorf("a repeated request for %s is answered with %v, want a and b", url, y.seen)
			}
			if list := n.read(); len(list) > 0 {
				t.Errorf("the acknowledgement brings another response: %q", list)
			}
		}
		n.ask(n.of(endpointURL), "it is bad")
		if list := n.read(); len(list) > 0 {
			t.Errorf("a NACK brings another response: %q", list)
		}
	})
}

// A repeated request that crosses a response with one of the resources is answered, too: its nonce is acknowledged and
// no longer the newest.
func TestRepeatedRequestCrossesAResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newWarm(t, m, c)
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "2")).Put(put(endpointURL, "b", "2")))
		pieces, err := n.stream.Next(t.Context()) // Cluster
		if err != nil {
			t.Fatal(err)
		}
		clusters := new(discoveryv3.DiscoveryResponse)
		if err := proto.Unmarshal(slices.Concat(pieces...), clusters); err != nil {
			t.Fatal(err)
		}
		if pieces, err = n.stream.Next(t.Context()); err != nil { // endpoints of b
			t.Fatal(err)
		}
		n.takeWhole(clusters, "")
		n.ask(n.of(endpointURL), "") // before the client reads the endpoints of b
		late := new(discoveryv3.DiscoveryResponse)
		if err := proto.Unmarshal(slices.Concat(pieces...), late); err != nil {
			t.Fatal(err)
		}
		n.takeWhole(late, "")
		if got := n.endpoints(t); !slices.Contains(got, "a") {
			t.Errorf("the repeated request is answered with %q, want the endpoints of a", got)
		}
	})
}

// A request that adds a name after a cluster has changed may have been merged with a repeated one. It is answered with
// all endpoints, once.
func TestChangedRequestOfWarmingIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newWarm(t, m, c)
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "2")).Put(put(endpointURL, "c", "1")).Put(put(endpointURL, "d", "1")))
		n.read()
		n.change(endpointURL, []string{"c"}, nil)
		synctest.Wait()
		if got, want := n.endpoints(t), []string{"a", "b", "c"}; !slices.Equal(got, want) {
			t.Errorf("after a changed cluster, a request with another name is answered with %q, want %q", got, want)
		}
		n.change(endpointURL, []string{"d"}, nil)
		synctest.Wait()
		if got, want := n.endpoints(t), []string{"d"}; !slices.Equal(got, want) {
			t.Errorf("the next request with another name is answered with %q, want %q", got, want)
		}
	})
}

// A short request that repeats the wildcard does not keep others from the lock of the core.
func TestRepetitionInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, false)
		n.change(pairURL, []string{source.Wildcard}, nil)
		tx := new(source.Tx)
		for i := range 9 {
			tx.Put(put(pairURL, fmt.Sprint("n", i), "1"))
		}
		commit(t, m, tx)
		n.read()
		parts := 0
		c.part, c.between = 4, func() { parts++ }
		n.change(pairURL, nil, nil)
		if parts != 2 {
			t.Errorf("the request was handled in %d parts, want 3", parts+1)
		}
		if got := n.read(); len(got) != 1 || len(n.of(pairURL).has) != 9 {
			t.Errorf("the client received %d responses and has %v", len(got), n.of(pairURL).has)
		}
	})
}
