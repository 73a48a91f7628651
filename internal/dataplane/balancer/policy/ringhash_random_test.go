package policy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// TestRandomChanges updates, connects and breaks random endpoints, and lets timers of pick_first connect
// to their next addresses. After each step it compares the policy with one that is computed anew.
func TestRandomChanges(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { changeAtRandom(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func changeAtRandom(t *testing.T, r *rand.Rand) {
	b := newBench(t, "10.0.0.1:80")
	all := []*lbtree.Endpoint{{Weight: 1, Endpoint: resolver.Endpoint{Addresses: []resolver.Address{{Addr: "10.0.0.1:80"}}}}}
	update := func() {
		b.do(func() {
			b.policy.Update(lbtree.Target{
				Policy:     resource.LBConfig{Config: `{"minRingSize":16}`},
				Localities: []lbtree.Locality{{Weight: 1, Endpoints: all}},
			})
		})
	}
	update()
	for step := range 80 {
		before := policies(b.policy)
		switch r.IntN(10) {
		case 0:
			<-time.NewTimer(time.Second).C
			synctest.Wait()
		case 1, 2, 3, 4:
			all = mutate(r, all)
			update()
		default:
			b.disturb(r)
		}
		b.do(func() { b.compare(all, before) })
		if t.Failed() {
			t.Fatalf("step %d", step)
		}
	}
}

// mutate returns endpoints after a random change. Each is a set of one or two addresses.
func mutate(r *rand.Rand, all []*lbtree.Endpoint) []*lbtree.Endpoint {
	fresh := func() *lbtree.Endpoint {
		e := &lbtree.Endpoint{Weight: 1 + r.Uint32N(3)}
		e.Addresses = []resolver.Address{{Addr: fmt.Sprintf("10.0.0.%d:80", r.IntN(12))}}
		if r.IntN(4) == 0 {
			e.Addresses = append(e.Addresses, resolver.Address{Addr: "[::1]:80"})
		}
		return e
	}
	all = slices.Clone(all)
	at := r.IntN(len(all) + 1)
	switch r.IntN(6) {
	case 0, 1:
		all = slices.Insert(all, at, fresh())
	case 2:
		if at < len(all) && len(all) > 1 {
			all = slices.Delete(all, at, at+1)
		}
	case 3:
		if at < len(all) {
			all[at] = fresh()
		}
	case 4:
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	default:
		if at < len(all) {
			all[at] = new(*all[at])
			all[at].Weight = 1 + r.Uint32N(3)
			all[at].HashKey = []string{"", "a", "b"}[r.IntN(3)]
			all[at].Addresses = slices.Clone(all[at].Addresses)
			slices.Reverse(all[at].Addresses)
		}
	}
	seen := make(map[string]bool) // an update has no address twice
	return slices.DeleteFunc(all, func(e *lbtree.Endpoint) bool {
		twice := seen[e.Key()]
		seen[e.Key()] = true
		return twice
	})
}

// disturb asks a random endpoint to connect, or makes a subchannel report a random state.
func (b *bench) disturb(r *rand.Rand) {
	if n := len(b.policy.members); n > 0 && r.IntN(3) == 0 {
		m := b.policy.members[r.IntN(n)]
		b.do(func() { m.connector.request() })
		return
	}
	b.channel.mu.Lock()
	open := slices.Clone(b.channel.subConns)
	b.channel.mu.Unlock()
	open = slices.DeleteFunc(open, func(s *subConn) bool { return s.closed })
	if len(open) == 0 {
		b.do(b.policy.ExitIdle)
		return
	}
	s := open[r.IntN(len(open))]
	next := []connectivity.State{connectivity.Connecting, connectivity.Ready, connectivity.Idle, connectivity.TransientFailure}[r.IntN(4)]
	b.do(func() { s.listener(balancer.SubConnState{ConnectivityState: next, ConnectionError: errRefused}) })
	if health := s.health; next == connectivity.Ready && health != nil {
		b.do(func() { health(balancer.SubConnState{ConnectivityState: next}) })
	}
}

// policies returns the endpoints' policies, and the addresses of their endpoints.
func policies(p *ringHash) map[*leaf]string {
	out := make(map[*leaf]string)
	for _, m := range p.members {
		if m.policy != nil {
			out[m.policy] = m.addresses
		}
	}
	return out
}

// compare computes anew all that the policy remembers between updates.
func (b *bench) compare(all []*lbtree.Endpoint, before map[*leaf]string) {
	b.Helper()
	p := b.policy
	want := lbtree.Flatten([]lbtree.Locality{{Weight: 1, Endpoints: all}})
	if len(p.members) != len(want) {
		b.Fatalf("%d members, want %d", len(p.members), len(want))
	}
	var counts stateCounts
	var spots []spot
	present := make(map[string]bool)
	for i, m := range p.members {
		key := want[i].Key()
		if m.addresses != key || m.at != i || m.share != want[i].Share || !slices.EqualFunc(m.endpoint.Addresses, want[i].Addresses, resolver.Address.Equal) {
			b.Errorf("member %d of %s is %+v, want %+v", i, key, m, want[i])
		}
		present[key] = true
		counts[m.state.ConnectivityState]++
		spots = append(spots, spot{ringKey(&want[i].Endpoint), want[i].Share})
		if now := p.shown[i].now.Load(); now.state != m.state.ConnectivityState || now.picker != m.state.Picker || now.connector != m.connector {
			b.Errorf("pickers see endpoint %s as %+v, want %+v", key, now, m.state)
		}
	}
	now := policies(p)
	for policy, key := range before {
		switch {
		case present[key] && (now[policy] != key || policy.closed):
			b.Errorf("endpoint %s has lost its policy", key)
		case !present[key] && !policy.closed:
			b.Errorf("the policy of endpoint %s, which was removed, is open", key)
		}
	}
	if p.counts != counts {
		b.Errorf("states = %v, want %v", p.counts, counts)
	}
	b.comparePicker(spots, counts)
}

func (b *bench) comparePicker(spots []spot, counts stateCounts) {
	b.Helper()
	picker, ok := b.last.Picker.(*ringPicker)
	if !ok || len(spots) == 0 {
		return
	}
	wanted := newRing(spots, sorted(spots, nil), 16, ringSizeCap)
	sameEntry := func(x, y ringEntry) bool { return x.hash == y.hash && spots[x.at].key == spots[y.at].key }
	if !slices.EqualFunc(picker.ring, wanted, sameEntry) {
		b.Errorf("the ring has %d entries that differ from the wanted %d", len(picker.ring), len(wanted))
	}
	connecting, hopeless := counts[connectivity.Connecting] > 0, counts[connectivity.TransientFailure] == len(spots)
	if picker.connecting != connecting || picker.hopeless != hopeless || !slices.Equal(picker.endpoints, b.policy.shown) {
		b.Errorf("the picker has connecting %t, hopeless %t; want %t, %t, and the present endpoints", picker.connecting, picker.hopeless, connecting, hopeless)
	}
	first := slices.IndexFunc(b.policy.members, func(m *member) bool { return m.state.ConnectivityState == connectivity.Idle })
	if first >= 0 && b.policy.anyIdle() != b.policy.members[first] {
		b.Errorf("the first idle endpoint is not %d", first)
	}
	if sum := counts.summarize(); sum.connect {
		b.Errorf("endpoints %v: none connects", counts)
	}
}
