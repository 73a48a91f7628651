package policy

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc/balancer"
)

// A namedPicker returns itself as the subchannel.
type namedPicker struct {
	balancer.SubConn
	name string
}

func (p *namedPicker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{SubConn: p}, nil
}

func readyEndpoint(name string) *rrEndpoint {
	return &rrEndpoint{set: name, state: balancer.State{Picker: &namedPicker{name: name}}}
}

// turns picks n times, and counts the picks by endpoint.
func turns(r *rotation, n int) map[string]int {
	out := make(map[string]int)
	for range n {
		result, err := r.Pick(balancer.PickInfo{})
		if p, ok := result.SubConn.(*namedPicker); ok && err == nil {
			out[p.name]++
		}
	}
	return out
}

// TestRotation adds and removes endpoints at random. Each ready endpoint must get the same number of
// calls, also when the rotation moves to larger or smaller room.
func TestRotation(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	rotation, ready := newRotation(0, r.Uint64()), []*rrEndpoint(nil)
	if _, err := rotation.Pick(balancer.PickInfo{}); err != balancer.ErrNoSubConnAvailable { //nolint:errorlint // gRPC compares it
		t.Errorf("a pick of no endpoint: %v", err)
	}
	for range 2000 {
		if n := len(ready); n > 0 && r.IntN(2) == 0 {
			at := r.IntN(n)
			rotation.remove(ready[at])
			ready = slices.Delete(ready, at, at+1)
		} else {
			e := readyEndpoint(string(rune('a' + r.IntN(1<<14))))
			if slices.ContainsFunc(ready, func(o *rrEndpoint) bool { return o.set == e.set }) {
				continue
			}
			rotation = rotation.resized(n + 1)
			rotation.add(e)
			ready = append(ready, e)
		}
		rotation = rotation.resized(len(ready) + r.IntN(3))
		want := make(map[string]int)
		for _, e := range ready {
			want[e.set] = 2
		}
		if got := turns(rotation, 2*len(ready)); !maps.Equal(got, want) {
			t.Fatalf("picks by endpoint are %v, want %v", got, want)
		}
		for i := len(ready); i < len(rotation.slots); i++ {
			if rotation.slots[i].Load() != nil {
				t.Fatalf("slot %d of %d endpoints is not empty", i, len(ready))
			}
		}
		if room := len(rotation.slots); room > 4*(len(ready)+3) {
			t.Fatalf("there is room for %d endpoints, of which %d are ready", room, len(ready))
		}
	}
}

// TestRotationInTurn expects consecutive picks to use all ready endpoints before one of them again.
func TestRotationInTurn(t *testing.T) {
	r := newRotation(4, 7)
	for _, name := range []string{"a", "b", "c", "d"} {
		r.add(readyEndpoint(name))
	}
	for range 10 {
		if got := turns(r, 4); len(got) != 4 {
			t.Fatalf("four picks used %v, want each endpoint once", got)
		}
	}
}

// TestRotationIsConcurrent picks while endpoints are added and removed. One endpoint is always ready, so
// each pick must find one.
func TestRotationIsConcurrent(t *testing.T) {
	const room = 8
	r := newRotation(room, 0)
	r.add(readyEndpoint("always"))
	var pickers sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		pickers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if p, err := r.Pick(balancer.PickInfo{}); err != nil || p.SubConn == nil {
					t.Errorf("a pick beside a ready endpoint: %v, %v", p.SubConn, err)
					return
				}
			}
		})
	}
	random := rand.New(rand.NewPCG(2, 2))
	var others []*rrEndpoint
	for range 20_000 {
		if n := len(others); n == room-1 || n > 0 && random.IntN(2) == 0 {
			at := random.IntN(n)
			r.remove(others[at])
			others = slices.Delete(others, at, at+1)
		} else {
			others = append(others, readyEndpoint("other"))
			r.add(others[n])
		}
	}
	close(done)
	pickers.Wait()
}
