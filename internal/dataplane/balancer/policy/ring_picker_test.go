package policy

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// A pickerError is a picker that says which endpoint it is of, by an error.
type pickerError int

func (a pickerError) Error() string { return string(rune('a' + int(a))) }

func (a pickerError) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, a
}

// ringOf is a picker of endpoints in states, "r", "i", "c" or "f" each, of which each has one
// ringEntry; the i-th is at hash 10*(i+1).
func ringOf(states string, connected *[]int) *ringPicker {
	p := &ringPicker{hopeless: true}
	for i, s := range states {
		state := map[rune]connectivity.State{
			'r': connectivity.Ready, 'i': connectivity.Idle, 'c': connectivity.Connecting, 'f': connectivity.TransientFailure,
		}[s]
		p.hopeless = p.hopeless && s == 'f'
		p.connecting = p.connecting || s == 'c'
		p.ring = append(p.ring, ringEntry{hash: uint64(10 * (i + 1)), at: i})
		c := &connector{start: func() { *connected = append(*connected, i) }}
		p.endpoints = append(p.endpoints, endpointIn(ringState{state: state, picker: pickerError(i), connector: c}))
	}
	return p
}

func endpointIn(s ringState) *ringEndpoint {
	e := new(ringEndpoint)
	e.now.Store(&s)
	return e
}

func TestRingPick(t *testing.T) {
	for _, test := range []struct {
		states    string
		hash      uint64
		want      int // the endpoint, or -1 if the call waits
		connected int // -1: none
	}{
		{"rrr", 11, 1, -1},
		{"rrr", 31, 0, -1},
		{"rir", 11, -1, 1},
		{"rcr", 11, -1, -1},
		{"rfr", 11, 2, -1},
		{"rff", 11, 0, -1},
		{"fff", 11, 1, -1},
		{"ffi", 1, -1, 2},
		{"ifc", 11, -1, -1},
	} {
		var connected []int
		p := ringOf(test.states, &connected)
		ctx := lbtree.WithCall(t.Context(), &lbtree.Call{Hash: test.hash, HasHash: true})
		for range 2 { // the second time, the endpoint is being connected already
			_, err := p.Pick(balancer.PickInfo{Ctx: ctx})
			var got pickerError
			switch {
			case errors.As(err, &got) && int(got) == test.want:
			case test.want < 0 && errors.Is(err, balancer.ErrNoSubConnAvailable):
			default:
				t.Errorf("%s, hash %d: picked %v, want endpoint %d", test.states, test.hash, err, test.want)
			}
		}
		if test.connected < 0 && connected != nil || test.connected >= 0 && (len(connected) != 1 || connected[0] != test.connected) {
			t.Errorf("%s, hash %d: connected %v, want %d, once", test.states, test.hash, connected, test.connected)
		}
	}
}

// A call without a hash goes to the first ready endpoint. It connects one of the endpoints before
// that, unless one is already connecting (A76).
func TestPickWithoutHash(t *testing.T) {
	for _, test := range []struct {
		states   string
		ready    bool // it goes to a ready endpoint
		connects bool
	}{
		{"rff", true, false}, {"rcc", true, false}, {"ffi", false, true}, {"iii", false, true}, {"ccf", false, false}, {"ici", false, false},
	} {
		for range 20 {
			var connected []int
			_, err := ringOf(test.states, &connected).Pick(balancer.PickInfo{Ctx: t.Context()})
			var got pickerError
			if ready := errors.As(err, &got) && test.states[got] == 'r'; ready != test.ready {
				t.Errorf("%s: picked %v", test.states, err)
			}
			if (len(connected) == 1) != test.connects || len(connected) > 1 {
				t.Errorf("%s: connected %v", test.states, connected)
			}
		}
	}
	var connected []int
	for range 50 {
		_, err := ringOf("ri", &connected).Pick(balancer.PickInfo{Ctx: t.Context()})
		if !errors.As(err, new(pickerError)) {
			t.Errorf("with one ready, picked %v", err)
		}
	}
	if _, err := ringOf("fff", &connected).Pick(balancer.PickInfo{Ctx: t.Context()}); !errors.As(err, new(pickerError)) {
		t.Errorf("all have failed; picked %v, want the failure of one", err)
	}
}

func TestHeader(t *testing.T) {
	p := &ringPicker{header: "key"}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "key", "a", "key", "b")
	if got, ok := p.hash(balancer.PickInfo{Ctx: ctx}); !ok || got != xxhash.Sum64String("a,b") {
		t.Errorf("hash = %x, %t, want that of a,b", got, ok)
	}
	ctx = lbtree.WithCall(context.Background(), &lbtree.Call{Hash: 1, HasHash: true})
	if _, ok := p.hash(balancer.PickInfo{Ctx: ctx}); ok {
		t.Error("a call without the header has a hash")
	}
}

func BenchmarkRingPick(b *testing.B) {
	spots := make([]spot, 100)
	p := new(ringPicker)
	for i := range spots {
		spots[i] = spot{string(rune('a' + i)), 1}
		p.endpoints = append(p.endpoints, endpointIn(ringState{state: connectivity.Ready, picker: done{}}))
	}
	p.ring = newRing(spots, sorted(spots, nil), 1024, 4096)
	call := &lbtree.Call{HasHash: true}
	info := balancer.PickInfo{Ctx: lbtree.WithCall(b.Context(), call)}
	b.ReportAllocs()
	for b.Loop() {
		call.Hash += 0x9e3779b97f4a7c15
		_, _ = p.Pick(info)
	}
}

type done struct{}

func (done) Pick(balancer.PickInfo) (balancer.PickResult, error) { return balancer.PickResult{}, nil }

// The picker picks the same endpoints as a literal version of gRFC A61's algorithm.
func TestPickAgreesWithNaive(t *testing.T) {
	for range 2000 {
		states := make([]byte, 1+rand.IntN(6))
		for i := range states {
			states[i] = "ricf"[rand.IntN(4)]
		}
		var connected, wanted []int
		p := ringOf(string(states), &connected)
		spots := make([]spot, len(states))
		for i := range spots {
			spots[i] = spot{string(rune('a' + i)), 1 + rand.Uint32N(3)}
		}
		p.ring = newRing(spots, sorted(spots, nil), 1+rand.Uint64N(20), 64)
		hash := rand.Uint64()
		want, waits := naive(p.ring, string(states), hash, &wanted)
		_, err := p.Pick(balancer.PickInfo{Ctx: lbtree.WithCall(t.Context(), &lbtree.Call{Hash: hash, HasHash: true})})
		var got pickerError
		if waits != errors.Is(err, balancer.ErrNoSubConnAvailable) || !waits && (!errors.As(err, &got) || int(got) != want) || !slices.Equal(connected, wanted) {
			t.Fatalf("states %s, hash %x: picked %v and connected %v; want %d, waiting %t, connecting %v", states, hash, err, connected, want, waits, wanted)
		}
	}
}

func naive(r ring, states string, hash uint64, connected *[]int) (endpoint int, waits bool) {
	first := 0
	for first < len(r) && r[first].hash < hash {
		first++
	}
	for i := range r {
		e := r[(first+i)%len(r)].at
		switch states[e] {
		case 'r':
			return e, false
		case 'i':
			*connected = append(*connected, e)
			return 0, true
		case 'c':
			return 0, true
		}
	}
	return r[first%len(r)].at, false
}

// While the configuration is unusable, the policy ignores the states of endpoints.
func TestBadRingConfiguration(t *testing.T) {
	var got balancer.State
	p := newRingHash(&lbtree.Env{State: new(lbtree.State)}, func(s balancer.State) { got = s })
	update := func(config string) {
		e := &lbtree.Endpoint{Weight: 1}
		e.Addresses = []resolver.Address{{Addr: "a"}}
		p.Update(lbtree.Target{
			Policy:     resource.LBConfig{Config: config},
			Localities: []lbtree.Locality{{Weight: 1, Endpoints: []*lbtree.Endpoint{e}}},
		})
	}
	for _, step := range []struct {
		do   func()
		want connectivity.State
	}{
		{func() { update(`{}`) }, connectivity.Idle},
		{func() { update(`{"maxRingSize":0}`) }, connectivity.TransientFailure},
		{func() { p.reported(p.members[0], balancer.State{ConnectivityState: connectivity.Ready}) }, connectivity.TransientFailure},
		{func() { update(`{}`) }, connectivity.Ready},
	} {
		step.do()
		if got.ConnectivityState != step.want {
			t.Errorf("%v, want %v", got.ConnectivityState, step.want)
		}
	}
}
