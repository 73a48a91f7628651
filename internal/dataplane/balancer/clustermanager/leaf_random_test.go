package clustermanager

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/labels"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// TestRandomUpdates changes endpoints, localities and settings of a cluster at random. After each
// update it compares the targets and the accounts with those that are computed without a history.
func TestRandomUpdates(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r, s := rand.New(rand.NewPCG(seed, 3)), newStage(t)
			config := leafConfig(cluster.EDS{}, "10.0.0.1:80")
			before := make(map[string]*account)
			for step := range 60 {
				config = mutate(r, config)
				s.do(func() { s.cluster.Update(config) })
				s.do(func() { before = compareAccounts(t, s.cluster, before) })
				if t.Failed() {
					t.Fatalf("step %d", step)
				}
			}
		})
	}
}

// mutate returns a configuration after one to three random changes. No address is in it twice.
func mutate(r *rand.Rand, c xdsconfig.Cluster) xdsconfig.Cluster {
	u := *c.Update
	c.Update, c.Localities = &u, slices.Clone(c.Localities)
	for i := range c.Localities {
		c.Localities[i].Endpoints = slices.Clone(c.Localities[i].Endpoints)
	}
	for range 1 + r.IntN(3) {
		mutateOnce(r, &c)
	}
	seen := make(map[string]bool)
	for i := range c.Localities {
		l := &c.Localities[i]
		l.Endpoints = slices.DeleteFunc(l.Endpoints, func(e endpoint.Endpoint) bool {
			twice := false
			for addr := range e.Addresses() {
				twice = twice || seen[addr]
				seen[addr] = true
			}
			return twice
		})
	}
	return c
}

func mutateOnce(r *rand.Rand, c *xdsconfig.Cluster) {
	l := &c.Localities[r.IntN(len(c.Localities))]
	at := r.IntN(len(l.Endpoints) + 1)
	there := at < len(l.Endpoints)
	switch change := r.IntN(24); {
	case change < 9:
		for range 1 + r.IntN(3) {
			l.Endpoints = slices.Insert(l.Endpoints, at, randomEndpoint(r))
		}
	case change < 12 && there:
		l.Endpoints = slices.Delete(l.Endpoints, at, min(at+1+r.IntN(3), len(l.Endpoints)))
	case change < 15 && there:
		l.Endpoints[at] = randomEndpoint(r)
	case change == 15:
		r.Shuffle(len(l.Endpoints), func(i, j int) { l.Endpoints[i], l.Endpoints[j] = l.Endpoints[j], l.Endpoints[i] })
	case change == 16 && len(c.Localities) < 4:
		id := endpoint.LocalityID{Region: fmt.Sprint(r.IntN(3))}
		if !slices.ContainsFunc(c.Localities, func(o endpoint.Locality) bool { return o.ID == id && o.Priority == 0 }) {
			c.Localities = append(c.Localities, endpoint.Locality{ID: id, Weight: 1 + r.Uint32N(3)})
		}
	case change == 17 && len(c.Localities) > 1:
		c.Localities = slices.Delete(c.Localities, 0, 1)
	case change == 18:
		r.Shuffle(len(c.Localities), func(i, j int) { c.Localities[i], c.Localities[j] = c.Localities[j], c.Localities[i] })
	case change == 19:
		c.Update.OutlierDetection = []*cluster.OutlierDetection{nil, {Interval: time.Hour, FailurePercentage: cluster.FailurePercentage{Enforcement: 1}}}[r.IntN(2)]
	case change == 20:
		c.Update.HTTPProxy = !c.Update.HTTPProxy
	case change == 21:
		c.Update.Discovery = cluster.EDS{ServiceName: fmt.Sprint("service", r.IntN(2))}
	default:
		c.Update.ReportMetrics.CPU = r.IntN(4) == 0
	}
}

func randomEndpoint(r *rand.Rand) endpoint.Endpoint {
	addrs := []string{fmt.Sprintf("10.0.0.%d:80", r.IntN(20))}
	if r.IntN(4) == 0 {
		addrs = append(addrs, fmt.Sprintf("[::%d]:80", r.IntN(20)))
	}
	e := endpoint.New(addrs...)
	e.Weight = 1 + r.Uint32N(2)
	e.Health = []endpoint.Health{endpoint.HealthHealthy, endpoint.HealthUnknown, endpoint.HealthDraining}[r.IntN(3)]
	details := endpoint.Details{Hostname: []string{"", "", "", "host"}[r.IntN(4)], AdditionalAddresses: addrs[1:]}
	switch r.IntN(6) {
	case 0:
		details.Metadata = map[string]resource.Metadatum{"envoy.lb": {Value: map[string]any{"hash_key": fmt.Sprint("key", r.IntN(2))}}}
	case 1:
		proxy := netip.MustParseAddrPort(fmt.Sprintf("10.1.0.%d:3128", r.IntN(3)))
		details.Metadata = map[string]resource.Metadatum{"envoy.http11_proxy_transport_socket.proxy_address": {Value: proxy}}
	}
	if r.IntN(2) == 0 || len(addrs) > 1 {
		e.Details = &details
	}
	return e
}

// compareAccounts returns the accounts by address.
func compareAccounts(t *testing.T, c *leafCluster, before map[string]*account) map[string]*account {
	t.Helper()
	compareTargets(t, c)
	accounts := make(map[string]*account)
	wanted := make(map[string]bool)
	for l := range all(newDialer(c.tls, c.config.Update.HTTPProxy).priorities(byPriority(c.config.Localities))) {
		for _, e := range l.Endpoints {
			first := c.conn.account(e.Addresses[0].Addr)
			for _, addr := range e.Addresses {
				wanted[addr.Addr] = true
				a := c.conn.account(addr.Addr)
				if a == nil || a != first {
					t.Fatalf("the account of %s is %p, want that of its endpoint, %p", addr.Addr, a, first)
				}
				accounts[addr.Addr] = a
			}
			if !correct(first, c, l.ID, e) {
				t.Errorf("the account of %s is %+v", e.Key(), first)
			}
			if last := before[e.Addresses[0].Addr]; last != nil && last.calls != first.calls {
				t.Errorf("the count of calls to %s is another one", e.Key())
			}
		}
	}
	c.conn.mu.Lock() // a timer of pick_first creates subchannels, too
	defer c.conn.mu.Unlock()
	if c.stray.breaker != c.breaker || c.conn.stray != c.stray {
		t.Errorf("the account of other addresses is %+v", c.stray)
	}
	for addr, a := range c.conn.addresses {
		if (a.account != nil) != wanted[addr] || a.account == nil && a.subConns == nil {
			t.Errorf("address %s has the account %p, want one: %t", addr, a.account, wanted[addr])
		}
		for s := a.subConns; s != nil; s = s.next {
			want := c.stray
			if a.account != nil {
				want = a.account
			}
			if got := s.account.Load(); got != want || got.breaker != c.breaker || s.address != addr {
				t.Errorf("a subchannel to %s at %s has the account %p, want %p", s.address, addr, got, want)
			}
		}
	}
	return accounts
}

func correct(a *account, c *leafCluster, id endpoint.LocalityID, e *lbtree.Endpoint) bool {
	return a.breaker == c.breaker && a.metrics == c.config.Update.ReportMetrics.CPU &&
		maps.Equal(a.labels, labels.OfEndpoint("c", id)) && len(a.authority.Get(":authority")) == min(len(e.Hostname), 1) &&
		(a.outlier != nil) == (c.config.Update.OutlierDetection != nil)
}

// compareTargets expects the targets that a new dialer makes.
func compareTargets(t *testing.T, c *leafCluster) {
	t.Helper()
	want := newDialer(c.tls, c.config.Update.HTTPProxy).priorities(byPriority(c.config.Localities))
	for i, name := range c.priorities.order {
		if got := c.targets[name].Localities; len(got)+len(want[i]) > 0 && !reflect.DeepEqual(got, want[i]) {
			t.Errorf("the localities of priority %d are %+v, want %+v", i, got, want[i])
		}
	}
}

// TestReuseIsFast expects typical updates to reuse all unchanged endpoints.
func TestReuseIsFast(t *testing.T) {
	for name, test := range map[string]struct {
		next           []string
		added, removed int
	}{
		"the same":            {[]string{"a", "b", "c", "d", "e", "f"}, 0, 0},
		"two replaced":        {[]string{"a", "x", "c", "d", "y", "f"}, 2, 2},
		"neighbours replaced": {[]string{"a", "x", "y", "z", "e", "f"}, 3, 3},
		"some inserted":       {[]string{"x", "y", "a", "b", "c", "z", "d", "e", "f"}, 3, 0},
		"one removed":         {[]string{"a", "b", "d", "e", "f"}, 0, 1},
		"last ones removed":   {[]string{"a", "b"}, 0, 4},
		"all removed":         {nil, 0, 6},
	} {
		d := newDialer(nil, false)
		update := func(addrs ...string) {
			c := leafConfig(cluster.EDS{}, addrs...)
			d.priorities(byPriority(c.Localities))
		}
		update("a", "b", "c", "d", "e", "f")
		update(test.next...)
		if got := d.changed; len(got.added) != test.added || len(got.removed) != test.removed {
			t.Errorf("%s: %d endpoints were added and %d removed, want %d and %d", name, len(got.added), len(got.removed), test.added, test.removed)
		}
	}
}

// TestSubchannelsOfOneAddress expects all subchannels to an address to have its account, in whatever
// order they end.
func TestSubchannelsOfOneAddress(t *testing.T) {
	s := newStage(t)
	s.do(func() { s.cluster.Update(leafConfig(cluster.EDS{}, "a")) })
	var made []balancer.SubConn
	s.do(func() {
		for range 3 {
			sc, err := s.cluster.conn.NewSubConn([]resolver.Address{{Addr: "b"}}, balancer.NewSubConnOptions{StateListener: func(balancer.SubConnState) {}})
			if err != nil {
				t.Fatal(err)
			}
			made = append(made, sc)
		}
		made[1].Shutdown()
	})
	s.do(func() { s.cluster.Update(leafConfig(cluster.EDS{}, "a", "b")) })
	s.do(func() {
		want := s.cluster.conn.account("b")
		for i, sc := range made {
			own, _ := sc.(*subConn)
			if got := own.account.Load(); (got == want) != (i != 1) {
				t.Errorf("subchannel %d has the account %p, want %p only if it is open", i, got, want)
			}
		}
		made[0].Shutdown()
		made[2].Shutdown()
		made[2].Shutdown()
		s.cluster.Update(leafConfig(cluster.EDS{}, "a"))
	})
	s.do(func() {
		if a := s.cluster.conn.addresses["b"]; a != nil {
			t.Errorf("an address that nothing uses is kept: %+v", a)
		}
		s.cluster.Update(xdsconfig.Cluster{Err: errors.New("removed")})
	})
}
