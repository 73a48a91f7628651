package adsserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

func claiming(url string, versions map[string]string, subscribe ...string) *discoveryv3.DeltaDiscoveryRequest {
	return &discoveryv3.DeltaDiscoveryRequest{TypeUrl: url, ResourceNamesSubscribe: subscribe, InitialResourceVersions: versions}
}

// Initial versions have limits, and the error of a client that exceeds one names it.
func TestLimitsOfInitialVersions(t *testing.T) {
	versions := map[string]string{strings.Repeat("a", 80): strings.Repeat("1", 90), strings.Repeat("b", 80): strings.Repeat("2", 90)}
	const memory = 2*(1+2+80+2+90) - 4 + 4*4 // two records, and a table with four places
	for name, test := range map[string]struct {
		limits Limits
		budget int
		option string // of the error; "": there is none
		value  int
	}{
		"at all limits": {Limits{InitialVersions: 2, NameBytes: 90, InitialBytes: memory}, memory, "", 0},
		"number":        {Limits{InitialVersions: 1}, memory, "Limits.InitialVersions", 2},
		"text":          {Limits{NameBytes: 89}, memory, "Limits.NameBytes", 90},
		"memory":        {Limits{InitialBytes: memory - 1}, memory, "Limits.InitialBytes", memory},
		"client":        {Limits{}, memory - 1, "Limits.ClientBytes", typeCost + memory},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, c := newCore(t, Config{Limits: test.limits})
			b := &Budget{Names: 10, Bytes: typeCost + test.budget}
			st, err := c.OpenStream(StreamOptions{Delta: true, Budget: b})
			if err != nil {
				t.Fatal(err)
			}
			r := claiming(clusterURL, versions)
			r.ResourceNamesUnsubscribe = []string{"c"} // no subscription, which would cost bytes
			err = st.Request(encoded(t, r))
			var limit *LimitError
			if test.option == "" && err != nil || test.option != "" && (!errors.As(err, &limit) || limit.Option != test.option || limit.Value != test.value) {
				t.Errorf("%s: the request returns %v, want the limit %q and the value %d", name, err, test.option, test.value)
			}
			if want := map[bool]int{true: typeCost + memory}[err == nil]; b.bytes != want {
				t.Errorf("%s: the client is charged with %d bytes, want %d", name, b.bytes, want)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			_, _ = st.Next(ended) // compares the versions, and there is no response
			if want := map[bool]int{true: typeCost}[err == nil]; b.bytes != want {
				t.Errorf("%s: the client is charged with %d bytes for versions that were compared", name, b.bytes)
			}
		})
	}
}

// A stream that waits for its source keeps the initial versions, and is charged for them until it ends.
func TestInitialVersionsAreChargedWhileASourceIsSilent(t *testing.T) {
	c, err := New(Config{Source: silent{}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b := &Budget{Names: 100, Bytes: 12_000}
	open := func() *Stream {
		st, err := c.OpenStream(StreamOptions{Delta: true, Budget: b})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	large := map[string]string{strings.Repeat("a", 4000): "1"}
	first := open()
	for _, url := range []string{clusterURL, listenerURL} {
		if err := first.Request(encoded(t, claiming(url, large, "*"))); err != nil {
			t.Fatal(err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := first.Next(ended); !errors.Is(err, context.Canceled) || b.bytes < 8000 {
		t.Errorf("%v, and the client is charged with %d bytes, want those of two names of 4,000 bytes", err, b.bytes)
	}
	var limit *LimitError
	if err := open().Request(encoded(t, claiming(clusterURL, large, "*"))); !errors.As(err, &limit) || limit.Of != "client" || limit.Option != "Limits.ClientBytes" {
		t.Errorf("a second stream: %v, want the limit of the client", err)
	}
	first.Close(ErrClosed)
	if b.bytes != 0 || b.names != 0 {
		t.Errorf("after all streams, the client is charged with %d bytes and %d names", b.bytes, b.names)
	}
}

// A client with the resources of a large store can reconnect: it receives the changed ones, and every removal.
func TestReconnectionWithALargeStore(t *testing.T) {
	const claimed, kept = 500_000, 50_000 // 500,000 is the limit of a store
	m, c := newCore(t, Config{})
	tx, versions := new(source.Tx), make(map[string]string, claimed)
	for i := range claimed {
		r := put(clusterURL, fmt.Sprintf("cluster-%06d", i), "1")
		versions[r.Name] = source.Version(&r)
		if i < kept {
			tx.Put(r)
		}
	}
	changed := put(clusterURL, "cluster-000007", "2")
	if _, err := m.Commit(t.Context(), tx.Put(changed)); err != nil {
		t.Fatal(err)
	}
	st, err := c.OpenStream(StreamOptions{Delta: true, Budget: &Budget{Names: 1, Bytes: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if err := st.Request(encoded(t, claiming(clusterURL, versions, "*"))); err != nil {
		t.Fatal(err)
	}
	removed, received := make(map[string]bool), 0
	for len(removed) < claimed-kept || received == 0 {
		pieces, err := st.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r := new(discoveryv3.DeltaDiscoveryResponse)
		if err := proto.Unmarshal(slices.Concat(pieces...), r); err != nil {
			t.Fatal(err)
		}
		for _, x := range r.GetResources() {
			received++
			if x.GetName() != changed.Name {
				t.Fatalf("the client receives %s again, which has not changed", x.GetName())
			}
		}
		for _, name := range r.GetRemovedResources() {
			if removed[name] || name < fmt.Sprintf("cluster-%06d", kept) {
				t.Fatalf("the client is told that %s is gone", name)
			}
			removed[name] = true
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := st.Next(ended); !errors.Is(err, context.Canceled) || received != 1 || st.claimed != 0 {
		t.Errorf("%v: the client receives %d resources, and is charged with %d bytes; want one resource", err, received, st.claimed)
	}
}

// An unsubscription makes the server distrust versions, but not those of names that the client has kept.
func TestInitialVersionsAfterAnUnsubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := source.NewMemory()
		m.SetState(source.State{}) // answers nothing yet
		tx, versions := new(source.Tx), make(map[string]string)
		for _, name := range []string{"kept", "again", "ended"} {
			r := put(clusterURL, name, "1")
			versions[name] = source.Version(&r)
			tx.Put(r)
		}
		if _, err := m.Commit(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
		c, err := New(Config{Source: m})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		n := newNaive(t, c, true)
		for _, r := range []*discoveryv3.DeltaDiscoveryRequest{
			claiming(clusterURL, versions, "kept", "again", "ended"),
			{TypeUrl: clusterURL, ResourceNamesUnsubscribe: []string{"again", "ended"}},
			{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"again"}},
		} {
			n.send(r)
		}
		m.SetState(source.State{Kind: source.Live})
		synctest.Wait()
		var received []string
		for _, r := range n.readDelta(t) {
			for _, x := range r.GetResources() {
				received = append(received, x.GetName())
			}
		}
		if !slices.Equal(received, []string{"again"}) {
			t.Errorf("the client receives %q, want only the resource from which it had unsubscribed", received)
		}
	})
}

// A client that unsubscribes from a name may forget the resource, although it has the wildcard: the server sends it again, or
// tells its removal.
func TestInitialVersionsOfAnEndedNameUnderTheWildcard(t *testing.T) {
	for _, exists := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := source.NewMemory()
			m.SetState(source.State{}) // answers nothing yet
			c, err := New(Config{Source: m, AnswerTimeout: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			n := newNaive(t, c, true)
			tx, versions := new(source.Tx), make(map[string]string)
			for _, name := range []string{"kept", "early", "late"} { // the late one has an error in its place first
				r := put(clusterURL, name, "1")
				versions[name] = source.Version(&r)
				if exists {
					tx.Put(r)
				}
			}
			commit(t, m, tx)
			n.send(claiming(clusterURL, versions, "*", "kept", "early", "late"))
			n.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesUnsubscribe: []string{"early"}})
			pass(10 * time.Second)
			n.readDelta(t)
			n.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesUnsubscribe: []string{"late"}})
			m.SetState(source.State{Kind: source.Live})
			synctest.Wait()
			told := make(map[string]bool)
			for _, r := range n.readDelta(t) {
				for _, x := range r.GetResources() {
					told[x.GetName()] = true
				}
				for _, name := range r.GetRemovedResources() {
					told[name] = true
				}
			}
			if !told["early"] || !told["late"] {
				t.Errorf("exists = %t: the client hears of %v, want early and late", exists, told)
			}
		})
	}
}

// A client that comes back hears of the removals of one authority, though the source of another one does not answer. It
// hears of those of the second when that answers.
func TestClaimsWaitForTheirAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const downGone = "xdstp://down/envoy.config.cluster.v3.Cluster/dir/gone"
		var down scripted
		m, c := newCore(t, Config{Authorities: map[string]source.Source{"down": &down}})
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")))
		n := newNaive(t, c, true)
		y := n.of(clusterURL)
		for _, name := range []string{"a", "gone", downGone} {
			y.has[name], y.version[name] = name+"=0", "0"
		}
		n.change(clusterURL, []string{source.Wildcard, downName, downGlob}, nil)
		synctest.Wait()
		n.read()
		if want := map[string]string{"a": "a=1", downGone: downGone + "=0"}; !maps.Equal(y.has, want) {
			t.Errorf("while one source does not answer, the client has %v, want %v", y.has, want)
		}
		change := source.Change{Epoch: "1", Revision: 1, Complete: []source.Interest{{Type: clusterURL, Name: downGlob}}}
		if err := down.sink.Apply(change); err != nil {
			t.Fatal(err)
		}
		n.read()
		if y.has[downGone] == "" {
			t.Error("the client loses a resource before the source has answered all its names")
		}
		change = source.Change{Epoch: "1", Revision: 2, Complete: []source.Interest{{Type: clusterURL, Name: downName}}}
		if err := down.sink.Apply(change); err != nil {
			t.Fatal(err)
		}
		n.read()
		if want := map[string]string{"a": "a=1"}; !maps.Equal(y.has, want) {
			t.Errorf("at the end, the client has %v, want %v", y.has, want)
		}
		if n.stream.claimed != 0 {
			t.Errorf("the client is charged with %d bytes for claims that were compared", n.stream.claimed)
		}
	})
}
