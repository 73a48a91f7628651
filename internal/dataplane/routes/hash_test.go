package routes

import (
	"regexp"
	"testing"

	"github.com/cespare/xxhash/v2"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// values are the headers of a request.
type values map[string]string

// Value implements [Values].
func (v values) Value(p *route.HashPolicy) (string, bool) {
	s, ok := v[p.Header]
	return s, ok
}

// TestHash compares with the combinations that Envoy documents. The channel's hash has its highest bit set, which moves to
// the lowest.
func TestHash(t *testing.T) {
	const id = 1<<63 | 5
	x, y := xxhash.Sum64String("x"), xxhash.Sum64String("y")
	a, b, missing, channel := route.HashPolicy{Header: "a"}, route.HashPolicy{Header: "b"}, route.HashPolicy{Header: "c"}, route.HashPolicy{}
	terminal := func(p route.HashPolicy) route.HashPolicy { p.Terminal = true; return p }
	rewritten := route.HashPolicy{Header: "a", Substitution: `y`}
	rewritten.Regex = regexp.MustCompile("x")
	for _, tt := range []struct {
		why      string
		policies []route.HashPolicy
		want     uint64
		ok       bool
	}{
		{"no policy", nil, 0, false},
		{"a header that is absent", []route.HashPolicy{missing}, 0, false},
		{"a header", []route.HashPolicy{a}, x, true},
		{"the channel", []route.HashPolicy{channel}, id, true},
		{"a rewritten header", []route.HashPolicy{rewritten}, y, true},
		{"two headers", []route.HashPolicy{a, b}, y ^ (x<<1 | x>>63), true},
		{"an absent header between others", []route.HashPolicy{a, missing, b}, y ^ (x<<1 | x>>63), true},
		{"the channel and a header", []route.HashPolicy{channel, a}, x ^ 11, true},
		{"the end after a header", []route.HashPolicy{terminal(a), b}, x, true},
		{"the source address, whose policy has no name", []route.HashPolicy{{Kind: route.HashSourceIP}}, xxhash.Sum64String("z"), true},
		{"no end after an absent header", []route.HashPolicy{terminal(missing), b}, y, true},
	} {
		got, ok := Hash(tt.policies, id, values{"a": "x", "b": "y", "": "z"})
		if got != tt.want || ok != tt.ok {
			t.Errorf("%s: the hash is %x, %t; want %x, %t", tt.why, got, ok, tt.want, tt.ok)
		}
	}
}

// TestHashed expects the call of a target, which many requests share, to stay without a hash.
func TestHashed(t *testing.T) {
	shared := &lbtree.Call{Cluster: "c"}
	if got := Hashed([]route.HashPolicy{{Header: "c"}}, 7, shared, values{}); got != shared {
		t.Errorf("without a hash, the call is %+v, want the shared one", got)
	}
	got := Hashed([]route.HashPolicy{{}}, 7, shared, values{})
	if got.Cluster != "c" || !got.HasHash || got.Hash != 7 || shared.HasHash {
		t.Errorf("the call is %+v, want one to cluster c with the hash 7; the shared one is %+v", got, shared)
	}
}
