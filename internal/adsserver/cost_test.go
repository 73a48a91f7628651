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

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

func encoded(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func numbered(format string, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(format, i))
	}
	return list
}

const globs = "xdstp://a/envoy.config.cluster.v3.Cluster/%05d/*"

// TestLimitOfCollections has clients subscribe to as many collections as the limit allows, and to one more.
func TestLimitOfCollections(t *testing.T) {
	list := numbered(globs, 4)
	for name, test := range map[string]struct {
		delta    bool
		requests [][]string
		fails    bool
	}{
		"delta, at the limit":                       {true, [][]string{list[:3]}, false},
		"delta, again":                              {true, [][]string{list[:3], list[:3]}, false},
		"delta, one more":                           {true, [][]string{list}, true},
		"delta, in two requests":                    {true, [][]string{list[:2], list[2:]}, true},
		"state of the world, replaced":              {false, [][]string{list[:3], list[1:]}, false},
		"state of the world, one more":              {false, [][]string{list}, true},
		"state of the world, the wildcard with all": {false, [][]string{append([]string{"*"}, list[1:]...)}, true},
	} {
		_, c := newCore(t, Config{Limits: Limits{Collections: 3}})
		st, err := c.Open(test.delta)
		if err != nil {
			t.Fatal(err)
		}
		for _, names := range test.requests {
			if test.delta {
				err = st.Request(encoded(t, &discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: names}))
			} else {
				err = st.Request(encoded(t, &discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResourceNames: names}))
			}
		}
		var limit *LimitError
		if test.fails && (!errors.As(err, &limit) || limit.Limit != "collections" || limit.Value != 4 || limit.Option != "Limits.Collections") || !test.fails && err != nil {
			t.Errorf("%s: the last request returns %v; error expected: %t", name, err, test.fails)
		}
	}
}

// The client can unsubscribe from a glob by another spelling than that of the subscription.
func TestSpellingOfAGlob(t *testing.T) {
	for _, delta := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			_, c := newCore(t, Config{})
			n := newNaive(t, c, delta)
			const spelled, canonical = "xdstp://a/envoy.config.cluster.v3.Cluster/x/*?b=1&a=2", "xdstp://a/envoy.config.cluster.v3.Cluster/x/*?a=2&b=1"
			n.change(clusterURL, []string{spelled, "a"}, nil)
			if got := c.SubscribedTo(clusterURL); !slices.Equal(got, []string{"a", canonical}) {
				t.Errorf("delta=%t: the stream subscribes to %q", delta, got)
			}
			n.change(clusterURL, nil, []string{spelled})
			if got := c.SubscribedTo(clusterURL); !slices.Equal(got, []string{"a"}) {
				t.Errorf("delta=%t: the stream still subscribes to %q", delta, got)
			}
		})
	}
}

// A wanting records the interests of a core.
type wanting struct {
	*source.Memory
	wants []source.Interest
}

type wantingSession struct {
	source.Session
	of *wanting
}

func (w *wanting) Open(ctx context.Context, sink source.Sink) (source.Session, error) {
	s, err := w.Memory.Open(ctx, sink)
	return wantingSession{s, w}, err
}

func (s wantingSession) Want(add, drop []source.Interest) {
	s.of.wants = append(s.of.wants, add...)
	s.Session.Want(add, drop)
}

// The empty name does not exist, although it is the name of an interest in everything.
func TestEmptyName(t *testing.T) {
	for _, delta := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := &wanting{Memory: source.NewMemory()}
			commit(t, w.Memory, new(source.Tx).Put(put(clusterURL, "a", "1")))
			c, err := New(Config{Source: w})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			n := newNaive(t, c, delta)
			n.change(clusterURL, []string{"", "b"}, nil)
			synctest.Wait()
			n.read()
			if y := n.of(clusterURL); len(y.has) != 0 || delta && !y.gone[""] {
				t.Errorf("delta=%t: the client has %v, and was told that %v do not exist; want nothing, and the empty name", delta, y.has, y.gone)
			}
			if want := []source.Interest{{Type: clusterURL, Name: "b"}}; !slices.Equal(w.wants, want) {
				t.Errorf("delta=%t: the source is asked for %v, want %v", delta, w.wants, want)
			}
			n.change(clusterURL, nil, []string{""})
			if got := c.SubscribedTo(clusterURL); !slices.Equal(got, []string{"b"}) {
				t.Errorf("delta=%t: the stream subscribes to %q", delta, got)
			}
		})
	}
}

// All strings of a request must be UTF-8, because the server may send them back.
func TestInvalidText(t *testing.T) {
	for name, m := range map[string]proto.Message{
		"name":             &discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{"XXXX"}},
		"name to end":      &discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesUnsubscribe: []string{"XXXX"}},
		"initial resource": &discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, InitialResourceVersions: map[string]string{"XXXX": "1"}},
		"initial version":  &discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, InitialResourceVersions: map[string]string{"a": "XXXX"}},
	} {
		_, c := newCore(t, Config{})
		st, err := c.Open(true)
		if err != nil {
			t.Fatal(err)
		}
		raw := encoded(t, m)
		at := slices.Index(raw, 'X')
		copy(raw[at:], "\xff\xfe\xfd\xfc")
		if err := st.Request(raw); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: the request returns %v, want %v", name, err, ErrMalformed)
		}
	}
}

// Errors of names without permission are divided by the limit of a response, in both variants. Each name has one.
func TestRefusalsAreDivided(t *testing.T) {
	for _, delta := range []bool{true, false} {
		for _, url := range []string{clusterURL, endpointURL} {
			synctest.Test(t, func(t *testing.T) {
				const limit, names = 4000, 300
				m, c := newCore(t, Config{Limits: Limits{ResponseBytes: limit}})
				commit(t, m, new(source.Tx).Put(put(url, "a", "1")))
				n := newNaive(t, c, delta)
				n.stream.allow = func(_, name string) bool { return name == "a" }
				n.change(url, append(numbered("refused-%04d", names), "a"), nil)
				synctest.Wait()
				responses, largest, errs := n.sizes(url)
				if got := len(errs); got != names || n.of(url).has["a"] == "" {
					t.Errorf("delta=%t: the client has %d errors and %v; want %d, and a", delta, got, n.of(url).has, names)
				}
				if responses < names*100/limit || largest > limit+100 {
					t.Errorf("delta=%t, %s: %d responses of at most %d bytes; want several of at most %d", delta, url, responses, largest, limit)
				}
				n.change(url, nil, []string{"refused-0001"})
				n.change(url, []string{"refused-0001"}, nil)
				n.read()
				if n.of(url).errors["refused-0001"] == "" {
					t.Errorf("delta=%t: a name that is refused again has no error", delta)
				}
			})
		}
	}
}

// sizes reads all responses, and returns their number, the size of the largest, and the names with errors.
func (n *naive) sizes(url string) (responses, largest int, errs map[string]string) {
	errs = make(map[string]string)
	for n.next("") {
		responses++
		largest = max(largest, n.measured)
		maps.Copy(errs, n.of(url).errors)
	}
	return responses, largest, errs
}

// A client that subscribes to names without permission and unsubscribes again, and does not read, costs no more
// than the names that it subscribes to.
func TestPardonedRefusalsAreForgotten(t *testing.T) {
	_, c := newCore(t, Config{})
	st, err := c.OpenStream(StreamOptions{Delta: true, Allow: func(string, string) bool { return false }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		name := []string{fmt.Sprintf("name-%d", i)}
		for _, r := range []*discoveryv3.DeltaDiscoveryRequest{{TypeUrl: clusterURL, ResourceNamesSubscribe: name}, {TypeUrl: clusterURL, ResourceNamesUnsubscribe: name}} {
			if err := st.Request(encoded(t, r)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s := st.kinds[0]; len(s.refused) > 1 || len(s.untold) > 1 || st.names != 0 || s.owes() {
		t.Errorf("the stream has %d refusals and %d untold ones, counts %d names, and owes a response: %t; want none", len(s.refused), len(s.untold), st.names, s.owes())
	}
}

// A type has one state on a stream, and one answer, in whatever way a client spells the prefix of its URL.
func TestSpellingOfAType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{Limits: Limits{Types: 1}, Type: func(url string) (Type, bool) {
			return Type{URL: clusterURL}, strings.HasSuffix(url, "/envoy.config.cluster.v3.Cluster")
		}})
		commit(t, m, new(source.Tx).Put(put(clusterURL, "a", "1")).Put(put(clusterURL, "b", "1")))
		n := newNaive(t, c, true)
		for i, prefix := range []string{"x/", "type.googleapis.com/", ""} {
			r := deltaOf([]string{string(rune('a' + i))}, nil)
			r.TypeUrl = prefix + "envoy.config.cluster.v3.Cluster"
			n.send(r)
			synctest.Wait()
			got := n.readDelta(t)
			if want := min(1, 2-i); len(got) != want || want > 0 && (got[0].GetTypeUrl() != clusterURL || len(got[0].GetResources()) != 1) {
				t.Errorf("a subscription with the prefix %q is answered by %v, want %d responses", prefix, got, want)
			}
		}
		if len(n.stream.kinds) != 1 || len(c.Counts()) != 1 {
			t.Errorf("the stream has %d types and the core %d, want one", len(n.stream.kinds), len(c.Counts()))
		}
	})
}
