package policy

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

func shares(r ring, n int) []int {
	out := make([]int, n)
	for _, e := range r {
		out[e.at]++
	}
	return out
}

func TestRing(t *testing.T) {
	for name, test := range map[string]struct {
		weights  []uint32
		min, max uint64
		want     []int
	}{
		"as small as may be":             {[]uint32{1, 1}, 1, 4096, []int{1, 1}},
		"equal weights":                  {[]uint32{5, 5, 5}, 9, 4096, []int{3, 3, 3}},
		"the least weight gets whole":    {[]uint32{1, 2}, 4, 4096, []int{2, 4}},
		"bounded":                        {[]uint32{1, 2}, 4, 3, []int{1, 2}},
		"bounded below what is needed":   {[]uint32{1, 1, 1, 1}, 2, 2, []int{1, 0, 1, 0}},
		"a fraction at most is rounded":  {[]uint32{1, 9}, 10, 4096, []int{1, 9}},
		"weights of a fixed point share": {[]uint32{1 << 30, 1 << 30}, 1024, 4096, []int{512, 512}},
	} {
		t.Run(name, func(t *testing.T) {
			spots := make([]spot, len(test.weights))
			for i, w := range test.weights {
				spots[i] = spot{fmt.Sprintf("10.0.0.%d:80", i), w}
			}
			r := newRing(spots, sorted(spots, nil), test.min, test.max)
			if got := shares(r, len(spots)); !slices.Equal(got, test.want) {
				t.Errorf("entries = %v, want %v", got, test.want)
			}
			if !slices.IsSortedFunc(r, func(a, b ringEntry) int { return cmp.Compare(a.hash, b.hash) }) {
				t.Error("the ring is not sorted")
			}
		})
	}
}

// The entries have the same hashes as in Envoy: of "<address>_<number>".
func TestRingHashes(t *testing.T) {
	r := newRing([]spot{{"127.0.0.1:80", 1}}, []int{0}, 3, 4096)
	for i := range 3 {
		h := xxhash.Sum64String(fmt.Sprintf("127.0.0.1:80_%d", i))
		if e := r[r.find(h)]; e.hash != h {
			t.Errorf("no entry %d at %x", i, h)
		}
	}
}

func TestRingDoesNotDependOnOrder(t *testing.T) {
	spots := []spot{{"a", 1}, {"b", 3}, {"c", 2}}
	want := newRing(spots, sorted(spots, nil), 100, 7) // some get a fraction of an entry
	for range 20 {
		mixed := slices.Clone(spots)
		rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		for i, e := range newRing(mixed, sorted(mixed, nil), 100, 7) {
			if e.hash != want[i].hash || mixed[e.at].key != spots[want[i].at].key {
				t.Fatalf("entry %d differs when the order of the endpoints does", i)
			}
		}
	}
}

func TestFind(t *testing.T) {
	r := ring{{hash: 10}, {hash: 20}, {hash: 30}}
	for hash, want := range map[uint64]int{0: 0, 10: 0, 11: 1, 20: 1, 30: 2, 31: 0, math.MaxUint64: 0} {
		if got := r.find(hash); got != want {
			t.Errorf("find(%d) = %d, want %d", hash, got, want)
		}
	}
}

func TestSummarize(t *testing.T) {
	const (
		idle       = connectivity.Idle
		connecting = connectivity.Connecting
		ready      = connectivity.Ready
		failure    = connectivity.TransientFailure
	)
	for _, test := range []struct {
		states []connectivity.State
		want   summary
	}{
		{[]connectivity.State{ready, failure, failure, idle}, summary{state: ready}},
		{[]connectivity.State{failure, failure, connecting, idle}, summary{state: failure, connecting: true}},
		{[]connectivity.State{failure, failure, idle}, summary{state: failure, connect: true}},
		{[]connectivity.State{idle, connecting}, summary{state: connecting, connecting: true}},
		{[]connectivity.State{failure, idle, idle}, summary{state: connecting, connect: true}},
		{[]connectivity.State{idle, idle}, summary{state: idle}},
		{[]connectivity.State{failure}, summary{state: failure}},
		{[]connectivity.State{failure, failure}, summary{state: failure}},
	} {
		var counts stateCounts
		for _, s := range test.states {
			counts[s]++
		}
		if got := counts.summarize(); got != test.want {
			t.Errorf("summarize(%v) = %+v, want %+v", test.states, got, test.want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]ringConfig{
		`{}`: {MinSize: 1024, MaxSize: 4096},
		`{"minRingSize":1024,"maxRingSize":8388608}`:    {MinSize: 1024, MaxSize: 4096},
		`{"minRingSize":5000,"maxRingSize":8388608}`:    {MinSize: 4096, MaxSize: 4096},
		`{"minRingSize":1,"maxRingSize":2}`:             {MinSize: 1, MaxSize: 2},
		`{"minRingSize":8388608,"maxRingSize":8388608}`: {MinSize: 4096, MaxSize: 4096},
		`{"minRingSize":0}`:                             {MinSize: 1024, MaxSize: 4096},
		`{"requestHashHeader":"X-Key"}`:                 {MinSize: 1024, MaxSize: 4096, Header: "x-key"},
	} {
		if got, err := parseRing(text, 0); err != nil || got != want {
			t.Errorf("parseRing(%s) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	if got, err := parseRing(`{"minRingSize":5000,"maxRingSize":8388608}`, 6000); err != nil || got.MinSize != 5000 || got.MaxSize != 6000 {
		t.Errorf("with a cap of 6000: %+v, %v", got, err)
	}
	for _, text := range []string{
		`{"minRingSize":0,"maxRingSize":1023}`, `{"minRingSize":3,"maxRingSize":2}`, `{"maxRingSize":8388609}`, `[]`,
		`{"minRingSize":8388609,"maxRingSize":8388609}`,
		`{"requestHashHeader":"x-bin"}`, `{"requestHashHeader":"x y"}`,
	} {
		if got, err := parseRing(text, 0); err == nil {
			t.Errorf("parseRing(%s) = %+v; must be an error", text, got)
		}
	}
}

func TestHashKeys(t *testing.T) {
	e := lbtree.Weighted{Endpoint: lbtree.Endpoint{Endpoint: resolver.Endpoint{Addresses: []resolver.Address{{Addr: "first"}, {Addr: "second"}}}}}
	if got := ringKey(&e.Endpoint); got != "first" {
		t.Errorf("an endpoint is placed by %q, want its first address", got)
	}
	e.HashKey = "key"
	if got := ringKey(&e.Endpoint); got != "key" {
		t.Errorf("an endpoint with a hash key is placed by %q", got)
	}
}
