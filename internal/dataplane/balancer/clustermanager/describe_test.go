package clustermanager

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status/dataplane"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A display is a tree on a channel that the test controls.
type display struct {
	*testing.T
	channel
	manager *manager
	trees   lbtree.Trees
	state   atomic.Pointer[balancer.State]
}

func (d *display) UpdateState(s balancer.State) { d.state.Store(&s) }

func newDisplay(t *testing.T) *display {
	d := &display{T: t}
	d.manager = newManager(d, balancer.BuildOptions{})
	return d
}

// set sets a configuration whose targets are all clusters but those that start with a dot.
func (d *display) set(clusters map[string]xdsconfig.Cluster) {
	d.Helper()
	c := &xdsconfig.Config{Clusters: clusters}
	for name := range clusters {
		if name[0] != '.' {
			c.Targets = append(c.Targets, name)
		}
	}
	if err := d.manager.UpdateClientConnState(balancer.ClientConnState{
		ResolverState: resolver.State{Attributes: lbtree.WithState(nil, &lbtree.State{Config: c, Trees: &d.trees})},
	}); err != nil {
		d.Fatal(err)
	}
	synctest.Wait()
}

// pick picks for a call.
func (d *display) pick(name string) (balancer.PickResult, error) {
	r, err := d.state.Load().Picker.Pick(balancer.PickInfo{Ctx: lbtree.WithCall(context.Background(), &lbtree.Call{Cluster: name})})
	synctest.Wait()
	return r, err
}

// connection sets the state of the newest subchannel of an address.
func (d *display) connection(addr string, s connectivity.State, err error) {
	for _, c := range d.made {
		if c.addr == addr && !c.shut {
			c.listener(balancer.SubConnState{ConnectivityState: s, ConnectionError: err})
			synctest.Wait()
			if s == connectivity.Ready && c.health != nil {
				c.health(balancer.SubConnState{ConnectivityState: connectivity.Ready})
				synctest.Wait()
			}
		}
	}
}

// expect compares the description of the tree, one line for each part.
func (d *display) expect(when, want string) {
	d.Helper()
	state, clusters, err := d.trees.All()[0].Describe(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	got := state + "\n"
	for _, c := range clusters {
		got += c.String() + "\n"
		for _, l := range c.Leaves {
			got += " " + l.String() + "\n"
			for _, p := range l.Priorities {
				got += "  " + p.String() + "\n"
				got += renderChildren(p)
				for _, l := range p.Localities {
					got += "   " + l.String() + "\n"
					for _, e := range l.Endpoints {
						got += "    " + e.String() + "\n"
					}
				}
			}
		}
	}
	if got != want {
		d.Errorf("%s: the tree is\n%swant\n%s", when, got, want)
	}
}

func renderChildren(p dataplane.Priority) string {
	var b strings.Builder
	for _, policy := range []*dataplane.Policy{p.Policy, p.Waiting} {
		if policy != nil {
			for _, c := range policy.Children {
				fmt.Fprintf(&b, "   %s: %v\n", policy.Name, c)
			}
		}
	}
	return b.String()
}

// leafOf returns a leaf of two priorities. The second has an endpoint that drains.
func leafOf(lb resource.LBConfig, most uint32) xdsconfig.Cluster {
	heavy, draining := endpoint.New("10.0.0.2:80"), endpoint.New("10.0.0.3:80")
	heavy.Weight, heavy.Details, draining.Health = 3, &endpoint.Details{Hostname: "two.example"}, endpoint.HealthDraining
	return xdsconfig.Cluster{
		Update: &cluster.Update{
			Discovery: cluster.EDS{ServiceName: "service"}, LBPolicy: lb, MaxRequests: most,
			OutlierDetection: &cluster.OutlierDetection{
				Interval: 20 * time.Second, BaseEjectionTime: time.Minute, MaxEjectionPercent: 100,
				FailurePercentage: cluster.FailurePercentage{Enforcement: 100, Threshold: 10, RequestVolume: 1},
			},
		},
		Localities: []endpoint.Locality{
			{ID: endpoint.LocalityID{Region: "east"}, Weight: 1, Priority: 1, Endpoints: []endpoint.Endpoint{heavy, draining}},
			{ID: endpoint.LocalityID{Region: "west", Zone: "a"}, Weight: 2, Endpoints: []endpoint.Endpoint{endpoint.New("10.0.0.1:80")}},
		},
		Drops: []endpoint.Drop{{Category: "none"}},
		Note:  errors.New("node x"),
	}
}

var wrrOf = func(child string) resource.LBConfig {
	return resource.LBConfig{Name: "xds_wrr_locality_experimental", Config: `{"childPolicy":[{"` + child + `":{}}]}`}
}

// The tree describes itself through a failover, an ejection and a change of the LB policy.
func TestDescribe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisplay(t)
		defer d.manager.Close()
		clusters := map[string]xdsconfig.Cluster{
			"all":   {Update: &cluster.Update{Discovery: cluster.Aggregate{}}, Leaves: []string{".gone", ".web"}},
			".gone": {Err: errors.New("it was removed")},
			".web":  leafOf(wrrOf("round_robin"), 1),
			"other": leafOf(wrrOf("round_robin"), 1),
		}
		d.set(clusters)
		d.expect("before calls", `IDLE
cluster "all": IDLE, not called yet
cluster "other": IDLE, not called yet
`)
		_, _ = d.pick("all")
		d.connection("10.0.0.1:80", connectivity.Connecting, nil)
		d.connection("10.0.0.1:80", connectivity.TransientFailure, errors.New("refused"))
		d.connection("10.0.0.1:80", connectivity.Connecting, nil)
		d.connection("10.0.0.2:80", connectivity.Connecting, nil)
		d.connection("10.0.0.2:80", connectivity.Ready, nil)
		first, err := d.pick("all")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = d.pick("all") // refused
		head := `cluster "all": READY, leaves ".gone", ".web"
 leaf ".gone": TRANSIENT_FAILURE, not in use: failed: cluster ".gone": it was removed, 0 priorities, 0 of at most 0 calls in flight: it was removed
`
		const web = ` leaf ".web": READY, in use, LB policy xds_wrr_locality_experimental, 2 priorities, `
		const drops = `, drops 0 of 1000000 calls as "none", 0 so far (node x)
`
		d.expect("after a failover", `READY
`+head+web+`1 of at most 1 calls in flight, 1 refused`+drops+`  priority 0: TRANSIENT_FAILURE, not in use: failed; its endpoints have the errors, xds_wrr_locality_experimental TRANSIENT_FAILURE with 1 children, 1 localities, 1 endpoints
   xds_wrr_locality_experimental: locality {region="west", zone="a", sub_zone=""}, round_robin TRANSIENT_FAILURE
   locality {region="west", zone="a", sub_zone=""}: weight 2, 1 endpoints
    endpoint 10.0.0.1:80: CONNECTING, UNKNOWN, weight 1, 0 calls: refused
  priority 1: READY, in use, xds_wrr_locality_experimental READY with 1 children, 1 localities, 2 endpoints
   xds_wrr_locality_experimental: locality {region="east", zone="", sub_zone=""}, round_robin READY
   locality {region="east", zone="", sub_zone=""}: weight 1, 2 endpoints
    endpoint 10.0.0.2:80: READY, UNKNOWN, weight 3, 1 calls, hostname "two.example"
    endpoint 10.0.0.3:80: not connected, DRAINING, weight 1, 0 calls
cluster "other": IDLE, not called yet
`)
		web2 := leafOf(wrrOf("pick_first"), 2)
		clusters[".web"] = web2
		d.set(clusters) // a call that has started before is still counted
		d.connection("10.0.0.1:80", connectivity.Ready, nil)
		d.expect("after another policy and the return", `READY
`+head+web+`1 of at most 2 calls in flight, 1 refused`+drops+`  priority 0: READY, in use, xds_wrr_locality_experimental READY with 1 children, 1 localities, 1 endpoints
   xds_wrr_locality_experimental: locality {region="west", zone="a", sub_zone=""}, pick_first READY
   locality {region="west", zone="a", sub_zone=""}: weight 2, 1 endpoints
    endpoint 10.0.0.1:80: READY, UNKNOWN, weight 1, 0 calls
  priority 1: READY, not in use: no longer needed; it is kept for 15m0s after a better one became usable, xds_wrr_locality_experimental READY with 1 children, 1 localities, 2 endpoints
   xds_wrr_locality_experimental: locality {region="east", zone="", sub_zone=""}, round_robin READY, then pick_first CONNECTING
   locality {region="east", zone="", sub_zone=""}: weight 1, 2 endpoints
    endpoint 10.0.0.2:80: READY, UNKNOWN, weight 3, 1 calls, hostname "two.example"
    endpoint 10.0.0.3:80: not connected, DRAINING, weight 1, 0 calls
cluster "other": IDLE, not called yet
`)
		first.Done(balancer.DoneInfo{Err: errors.New("failed")})
		<-time.NewTimer(21 * time.Second).C
		synctest.Wait()
		_, clusters2, err := d.manager.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p := clusters2[0].Leaves[1].Priorities
		if a, b := p[0].Localities[0].Endpoints[0], p[1].Localities[0].Endpoints[0]; a.Ejected || !b.Ejected || b.Calls != 0 {
			t.Errorf("the endpoints are %v and %v; want only the second to be ejected, without calls", a, b)
		}
	})
}

// Dropped calls are counted by category, also after another configuration.
func TestDescribeDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisplay(t)
		defer d.manager.Close()
		c := leafOf(wrrOf("round_robin"), 1)
		c.Drops = []endpoint.Drop{{Category: "none"}, {Category: "all", PerMillion: million}}
		d.set(map[string]xdsconfig.Cluster{"web": c})
		_, _ = d.pick("web")
		d.connection("10.0.0.1:80", connectivity.Connecting, nil)
		d.connection("10.0.0.1:80", connectivity.Ready, nil)
		if _, err := d.pick("web"); err == nil {
			t.Fatal("the call was not dropped")
		}
		next := leafOf(wrrOf("round_robin"), 1)
		next.Drops = []endpoint.Drop{{Category: "all", PerMillion: million}, {Category: "new", PerMillion: million}}
		d.set(map[string]xdsconfig.Cluster{"web": next})
		_, _ = d.pick("web")
		_, clusters, err := d.manager.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		drops := clusters[0].Leaves[0].Drops
		if len(drops) != 2 || drops[0] != (dataplane.Drop{Category: "all", PerMillion: million, Dropped: 2}) ||
			drops[1] != (dataplane.Drop{Category: "new", PerMillion: million}) {
			t.Errorf("the drops are %v; want two of category all", drops)
		}
		if !strings.Contains(clusters[0].Leaves[0].Priorities[1].Reason, "not needed") {
			t.Errorf("the second priority is %v; want one that is not needed", clusters[0].Leaves[0].Priorities[1])
		}
	})
}

// Describe returns when its context is done, and after Close.
func TestDescribeEnds(t *testing.T) {
	d := newDisplay(t)
	ctx, cancel := context.WithCancel(t.Context())
	blocked, release := make(chan struct{}), make(chan struct{})
	d.manager.env.Loop.Post(func() {
		close(blocked)
		<-release
	})
	<-blocked
	cancel()
	if _, _, err := d.manager.Describe(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Describe of a busy tree = %v, want the context's error", err)
	}
	close(release)
	d.manager.Close()
	if _, _, err := d.manager.Describe(t.Context()); !errors.Is(err, serial.ErrClosed) {
		t.Errorf("Describe after Close = %v, want ErrClosed", err)
	}
	if n := len(d.trees.All()); n != 0 {
		t.Errorf("%d trees are listed after Close", n)
	}
}

// A priority that only tries to connect is not in use, because its time is over. One that failed first is not in use
// because of the failure.
func TestDescribePriorityThatDoesNotConnect(t *testing.T) {
	for failed, want := range map[bool]string{false: "not connected after 10s", true: "failed; its endpoints have the errors"} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisplay(t)
			defer d.manager.Close()
			d.set(map[string]xdsconfig.Cluster{"web": leafOf(wrrOf("round_robin"), 1)})
			_, _ = d.pick("web")
			d.connection("10.0.0.1:80", connectivity.Connecting, nil)
			if failed {
				d.connection("10.0.0.1:80", connectivity.TransientFailure, errors.New("refused"))
			}
			<-time.NewTimer(failover).C
			synctest.Wait()
			d.connection("10.0.0.2:80", connectivity.Connecting, nil)
			d.connection("10.0.0.2:80", connectivity.Ready, nil)
			_, clusters, err := d.manager.Describe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if p := clusters[0].Leaves[0].Priorities; p[0].Reason != want || !p[1].InUse {
				t.Errorf("after a failure = %t, the priorities are %v and %v; want the second in use, the first with %q", failed, p[0], p[1], want)
			}
		})
	}
}

// An endpoint has the best state of its addresses, and of equal states that of the first address.
func TestDescribeAddresses(t *testing.T) {
	failed := func(text string) addressView {
		return addressView{connected: true, best: balancer.SubConnState{ConnectivityState: connectivity.TransientFailure, ConnectionError: errors.New(text)}}
	}
	connecting := addressView{connected: true, best: balancer.SubConnState{ConnectivityState: connectivity.Connecting}}
	e := endpoint.New("10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80")
	for _, test := range []struct {
		addresses map[string]addressView
		state     string
		err       string
	}{
		{map[string]addressView{"10.0.0.1:80": failed("first"), "10.0.0.2:80": failed("second")}, "TRANSIENT_FAILURE", "first"},
		{map[string]addressView{"10.0.0.2:80": failed("second"), "10.0.0.3:80": failed("third")}, "TRANSIENT_FAILURE", "second"},
		{map[string]addressView{"10.0.0.1:80": failed("first"), "10.0.0.2:80": connecting}, "CONNECTING", ""},
		{map[string]addressView{"10.0.0.1:80": connecting, "10.0.0.2:80": failed("second")}, "CONNECTING", ""},
		{nil, "", ""},
	} {
		v := endpointsView{addresses: test.addresses}
		if d := v.endpoint(&e, nil); d.State != test.state || d.Err != test.err {
			t.Errorf("with %v the endpoint is %v; want state %q and error %q", test.addresses, d, test.state, test.err)
		}
	}
}
