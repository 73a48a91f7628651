package policy

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/attributes"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// TestRoundRobinEqualsGRPC compares the policy with grpc-go's under random updates, connections,
// failures and changes of health. States, subchannels, attempts to connect and picks must be equal.
func TestRoundRobinEqualsGRPC(t *testing.T) {
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			// grpc-go updates unchanged endpoints too, which can restart a pass over their addresses.
			// With attributes, ours does so as well. Without, each endpoint has one address.
			var a *attributes.Attributes
			if seed%2 == 0 {
				a = attributes.New("test", true)
			}
			d := newDuel(t, a)
			defer d.close()
			var all []*lbtree.Endpoint
			for step := range 60 {
				when := fmt.Sprintf("seed %d, step %d", seed, step)
				switch {
				case len(all) == 0 || r.IntN(5) == 0:
					if all = mutate(r, all); len(all) == 0 {
						continue
					}
					all = all[:min(len(all), 8)]
					d.update(distinct(all, a == nil)...)
				case r.IntN(8) == 0:
					pass(time.Second) // the delays of Happy Eyeballs pass
					synctest.Wait()
				default:
					d.disturb(r)
				}
				if d.ours.last.Picker != nil {
					d.compare(when)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// distinct returns those endpoints that have no address of an earlier one, as in an assignment. It
// gives each its own IPv6 address, or none at all if single is set.
func distinct(all []*lbtree.Endpoint, single bool) []*lbtree.Endpoint {
	seen := make(map[string]bool)
	var out []*lbtree.Endpoint
	for _, e := range all {
		if len(e.Addresses) > 1 { // the others stay the same
			e = new(*e)
			e.Addresses = slices.Clone(e.Addresses)
		}
		v4 := slices.IndexFunc(e.Addresses, func(a resolver.Address) bool { return a.Addr[0] != '[' })
		addr := e.Addresses[v4].Addr
		if single {
			e.Addresses = e.Addresses[v4 : v4+1]
		} else if len(e.Addresses) == 2 {
			e.Addresses[1-v4].Addr = "[::1]:" + addr
		}
		if !seen[addr] {
			seen[addr] = true
			out = append(out, e)
		}
	}
	return out
}

// disturb makes a random subchannel report a random state that it can enter.
func (d *duel) disturb(r *rand.Rand) {
	addrs := slices.Sorted(maps.Keys(d.theirs.open()))
	if len(addrs) == 0 {
		return
	}
	addr := addrs[r.IntN(len(addrs))]
	if sc := d.theirs.newest(addr); sc.health != nil && r.IntN(2) == 0 {
		d.healthy(addr, []connectivity.State{connectivity.Ready, connectivity.Ready, connectivity.TransientFailure, connectivity.Connecting}[r.IntN(4)])
		return
	}
	next := map[connectivity.State][]connectivity.State{
		connectivity.Idle:             {connectivity.Connecting},
		connectivity.Connecting:       {connectivity.Ready, connectivity.TransientFailure, connectivity.Idle},
		connectivity.Ready:            {connectivity.Idle},
		connectivity.TransientFailure: {connectivity.Idle},
	}[d.theirs.newest(addr).state]
	to := next[r.IntN(len(next))]
	d.reports(addr, to, fmt.Errorf("attempt %d refused", r.IntN(1000)))
	if sc := d.theirs.newest(addr); to == connectivity.Ready && sc != nil && sc.health != nil && r.IntN(4) > 0 {
		d.healthy(addr, connectivity.Ready)
	}
}

// TestRoundRobinKeepsUnchanged expects an update to leave unchanged endpoints alone: the same
// pick_first, without an update, on the same subchannel.
func TestRoundRobinKeepsUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := connected(t, "a", "b", "c")
		defer d.close()
		d.update(endpointsOf("a", "b", "c", "m+n")...)
		for _, state := range []connectivity.State{connectivity.Connecting, connectivity.TransientFailure, connectivity.Idle} {
			d.reports("m", state, errRefused)
		}
		p, _ := d.ours.policy.(*roundRobin)
		before := slices.Clone(p.endpoints)
		d.update(endpointsOf("a", "x", "c", "m+n")...)
		if p.endpoints[0] != before[0] || p.endpoints[2] != before[2] || p.endpoints[1] == before[1] {
			t.Error("the unchanged endpoints are not the same, or the changed one is")
		}
		if n := len(d.ours.made); n != 6 {
			t.Errorf("%d subchannels were created, want 6", n)
		}
		if d.ours.open()["m"] {
			t.Error("an endpoint that tries its second address has started again with the first")
		}
		want := map[string]int{"a": 50, "c": 50}
		if got := d.ours.picks(100); !maps.Equal(got, want) {
			t.Errorf("picks = %v, want %v", got, want)
		}
	})
}

// TestRoundRobinFailure expects calls to fail with the newest error of an endpoint that is still there.
func TestRoundRobinFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDuel(t, nil)
		defer d.close()
		d.update(endpointsOf("a", "b")...)
		for _, addr := range []string{"a", "b"} {
			d.reports(addr, connectivity.Connecting, nil)
			d.reports(addr, connectivity.TransientFailure, fmt.Errorf("%s refused", addr))
		}
		check := func(when, want string) {
			t.Helper()
			if _, err := d.ours.last.Picker.Pick(balancer.PickInfo{}); err == nil || err.Error() != want {
				t.Errorf("%s: a call fails with %v, want %s", when, err, want)
			}
		}
		check("both have failed", "b refused")
		d.update(endpointsOf("a")...)
		check("the endpoint that failed last was removed", "a refused")
		d.update()
		check("all endpoints were removed", ErrNoEndpoints.Error())
	})
}
