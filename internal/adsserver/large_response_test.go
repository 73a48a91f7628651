package adsserver

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

// Others have the lock while a stream builds a large response, or finds that it has nothing to send.
func TestResponsesInParts(t *testing.T) {
	const n, part = 400, 4
	list := numbered("name-%d", n)
	small, large := new(source.Tx), new(source.Tx)
	for i, name := range list {
		small.Put(put(clusterURL, name, "1"))
		if i < 8 {
			large.Put(put(clusterURL, name, strings.Repeat("x", 1<<20)))
		}
	}
	initial := func() map[string]string {
		versions := make(map[string]string)
		for _, r := range small.Operations() {
			versions[r.Name] = source.Version(&r.Resource)
		}
		return versions
	}
	for name, test := range map[string]struct {
		has      *source.Tx
		names    []string
		claims   bool
		part     int
		parts    int // at least, before the first response
		received int // resources
		removed  int
	}{
		"wildcard":                   {small, []string{"*"}, false, part, taken - 1, n, 0},
		"names that exist":           {small, list, false, part, taken - 1, n, 0},
		"names that do not":          {new(source.Tx).Put(put(clusterURL, "other", "1")), list, false, part, n/part/taken - 1, 0, n},
		"versions of an old stream":  {small, []string{"*"}, true, part, n/part/taken - 1, 0, 0},
		"large resources, wildcard":  {large, []string{"*"}, false, defaultPart, 7, 8, 0},
		"large and absent resources": {large, list[:9], false, defaultPart, 7, 8, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, c := newCore(t, Config{})
			commit(t, m, test.has)
			st, err := c.Open(true)
			if err != nil {
				t.Fatal(err)
			}
			r := deltaOf(test.names, nil)
			if test.claims {
				r.InitialResourceVersions = initial()
			}
			if err := st.Request(encoded(t, r)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			c.part = test.part
			parts, first, resources, removed := 0, -1, 0, 0
			c.between = func() { parts++ }
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			for {
				pieces, err := st.Next(ended)
				if first < 0 {
					first = parts
				}
				if err != nil {
					break
				}
				x := new(discoveryv3.DeltaDiscoveryResponse)
				if err := proto.Unmarshal(slices.Concat(pieces...), x); err != nil {
					t.Fatal(err)
				}
				resources, removed = resources+len(x.GetResources()), removed+len(x.GetRemovedResources())
			}
			if first < test.parts || resources != test.received || removed != test.removed {
				t.Errorf("%s: the first response has %d parts, want at least %d; the client receives %d resources and %d removals, want %d and %d",
					name, first+1, test.parts+1, resources, removed, test.received, test.removed)
			}
		})
	}
}

// The buffer that streams share is made without the lock of the core.
func TestJointsAreMadeWithoutTheLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")).Put(put(clusterURL, "b", "1")))
		var second *Stream
		for range 2 {
			st, err := c.Open(false)
			if err != nil {
				t.Fatal(err)
			}
			if err := st.Request(encoded(t, wholeOf(nil))); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if second = st; len(c.types[clusterURL].shared.seen) == 0 {
				received(t, st)
			}
		}
		c.mu.Lock()
		pieces, j := second.build(), second.joint
		c.mu.Unlock()
		if j == nil || j.bytes != nil || len(pieces) != 2 || len(pieces[0]) != 0 {
			t.Fatalf("the second stream has %d pieces, and the joint %+v; want a joint without a buffer", len(pieces), j)
		}
		if got := j.joined(); len(got) != j.size || j.pieces != nil {
			t.Errorf("the buffer has %d bytes, want %d, and keeps %d pieces", len(got), j.size, len(j.pieces))
		}
	})
}
