package clustermanager

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A sessionStage is a cluster on a channel, with sessions.
type sessionStage struct {
	*stage
	t      *testing.T
	config xdsconfig.Cluster
}

const sessionIdle = 10 * time.Minute

// inSession runs a test in a bubble of synctest. The cluster has the addresses, all of them ready.
func inSession(t *testing.T, test func(*sessionStage), addrs ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		s := &sessionStage{stage: newStage(t), t: t, config: leafConfig(cluster.EDS{}, addrs...)}
		s.config.Update.OverrideHosts = cluster.HostStatuses{Unknown: true, Healthy: true, Draining: true}
		s.config.Update.IdleTimeout = sessionIdle
		s.update()
		for _, addr := range addrs {
			s.become(addr, connectivity.Ready)
		}
		test(s)
	})
}

// update passes a copy of the configuration to the cluster.
func (s *sessionStage) update() {
	c := s.config
	u := *c.Update
	c.Update, c.Localities = &u, slices.Clone(c.Localities)
	for i := range c.Localities {
		c.Localities[i].Endpoints = slices.Clone(c.Localities[i].Endpoints)
	}
	s.do(func() { s.cluster.Update(c) })
}

// drain changes the health status of an endpoint.
func (s *sessionStage) drain(i int, h endpoint.Health) {
	s.config.Localities[0].Endpoints[i].Health = h
	s.update()
}

// pass advances time until all goroutines are idle again.
func (s *sessionStage) pass(d time.Duration) {
	<-time.NewTimer(d).C
	synctest.Wait()
}

// open returns the open connections to an address.
func (s *sessionStage) open(addr string) []*connection {
	var open []*connection
	s.loop.Do(func() { // which shuts connections down
		s.channel.mu.Lock()
		defer s.channel.mu.Unlock()
		for _, c := range s.channel.made {
			if c.addr == addr && !c.shut {
				open = append(open, c)
			}
		}
	})
	return open
}

// picker returns the newest picker.
func (s *sessionStage) picker() (p *clusterPicker) {
	s.loop.Do(func() { p, _ = s.last.Picker.(*clusterPicker) })
	return p
}

// become changes the state of the newest connection to an address.
func (s *sessionStage) become(addr string, state connectivity.State) {
	s.t.Helper()
	open := s.open(addr)
	if len(open) == 0 {
		s.t.Fatalf("there is no connection to %s", addr)
	}
	c := open[len(open)-1]
	s.do(func() { c.listener(balancer.SubConnState{ConnectivityState: state}) })
	if state == connectivity.Ready && c.health != nil {
		s.do(func() { c.health(balancer.SubConnState{ConnectivityState: state}) })
	}
}

// pick picks for a call of a session, and returns the address. A call that waits has "waits".
func (s *sessionStage) pick(a *lbtree.Affinity) string {
	r, err := s.picker().pick(balancer.PickInfo{Ctx: s.t.Context()}, a)
	defer s.do(func() {})
	switch {
	case errors.Is(err, balancer.ErrNoSubConnAvailable):
		return "waits"
	case err != nil:
		return err.Error()
	}
	r.Done(balancer.DoneInfo{BytesSent: true})
	return r.SubConn.(*connection).addr
}

// first makes the first call of a session, which starts the sessions of the cluster.
func (s *sessionStage) first(addr string) {
	s.t.Helper()
	a := &lbtree.Affinity{Addresses: []string{addr}}
	if got := s.pick(a); got != "waits" {
		s.t.Fatalf("before the sessions of a cluster have started, a call is sent to %s; want it to wait", got)
	}
	s.expect("the first call", addr, addr)
}

// expect makes a call of a session.
func (s *sessionStage) expect(when, addr, want string) {
	s.t.Helper()
	a := &lbtree.Affinity{Addresses: strings.Split(addr, ",")}
	if got := s.pick(a); got != want {
		s.t.Errorf("%s: a session on %s is sent to %s; want %s", when, addr, got, want)
	} else if got != "waits" && !strings.HasPrefix(got, "cluster") && a.Used() != got {
		s.t.Errorf("%s: the endpoint of the call is %q; want %q", when, a.Used(), got)
	}
}

// A session keeps the subchannel that the policy shuts down, until it is idle. The policy is notified as by gRPC.
func TestKeptSubchannel(t *testing.T) {
	inSession(t, func(s *sessionStage) {
		s.first("a")
		s.drain(0, endpoint.HealthDraining)
		s.drain(1, endpoint.HealthDraining)
		if n, m := len(s.open("a")), len(s.open("b")); n != 1 || m != 0 {
			t.Fatalf("the draining endpoints have %d and %d connections; want 1 for the session, and 0", n, m)
		}
		s.expect("draining", "a", "a")
		s.pass(sessionIdle - time.Second)
		s.expect("before the idle timeout", "a", "a")
		s.pass(sessionIdle - time.Second)
		if len(s.open("a")) != 1 {
			t.Error("the connection was closed before the idle timeout after the last call")
		}
		s.pass(minSweep + 2*time.Second)
		if len(s.open("a")) != 0 {
			t.Error("the connection is open after the idle timeout")
		}
		s.expect("after the idle timeout", "a", "waits")
		waiting := s.picker()
		s.become("a", connectivity.Connecting)
		if s.picker() == waiting {
			t.Error("the state of the session's connection has changed, and the calls that wait have no new picker")
		}
		s.expect("connecting", "a", "waits")
		s.become("a", connectivity.Ready)
		s.expect("connected again", "a", "a")
		s.become("a", connectivity.Idle)
		connects := func(c *connection) (n int) {
			s.loop.Do(func() { n = c.connects })
			return n
		}
		owned := s.open("a")[0]
		before := connects(owned)
		s.expect("disconnected", "a", "waits")
		if n := connects(owned); n != before+1 {
			t.Errorf("a call connects the idle connection %d times; want once", n-before)
		}
		s.become("a", connectivity.TransientFailure)
		s.expect("not reachable", "a", "c")
	}, "a", "b", "c")
}

// A connection of a session ends when its endpoint is removed or may not be used, and when the cluster is removed.
func TestEndOfKeptSubchannel(t *testing.T) {
	for name, end := range map[string]func(s *sessionStage){
		"removed endpoint": func(s *sessionStage) {
			s.config.Localities[0].Endpoints = s.config.Localities[0].Endpoints[1:]
			s.update()
		},
		"unhealthy endpoint": func(s *sessionStage) { s.drain(0, endpoint.HealthUnhealthy) },
		"other statuses": func(s *sessionStage) {
			s.config.Update.OverrideHosts.Draining = false
			s.update()
		},
		"removed cluster": func(s *sessionStage) {
			s.do(func() { s.cluster.Update(xdsconfig.Cluster{Err: errors.New("removed")}) })
		},
	} {
		inSession(t, func(s *sessionStage) {
			s.first("a")
			s.drain(0, endpoint.HealthDraining)
			if len(s.open("a")) != 1 {
				t.Fatalf("%s: the session has no connection", name)
			}
			end(s)
			if len(s.open("a")) != 0 {
				t.Errorf("%s: the connection is open", name)
			}
		}, "a", "b")
	}
}

// The subchannel of the policy replaces that of the sessions when it is ready, and not before.
func TestReplacedSubchannel(t *testing.T) {
	inSession(t, func(s *sessionStage) {
		s.first("a")
		s.drain(0, endpoint.HealthDraining)
		s.drain(0, endpoint.HealthHealthy)
		if n := len(s.open("a")); n != 2 {
			t.Fatalf("the endpoint has %d connections; want 2, of the session and of the policy", n)
		}
		s.become("a", connectivity.Connecting)
		s.expect("while the policy connects", "a", "a")
		s.become("a", connectivity.Ready)
		if n := len(s.open("a")); n != 1 {
			t.Errorf("the endpoint has %d connections; want only that of the policy", n)
		}
		s.expect("after the policy has connected", "a", "a")
	}, "a", "b")
}

// Of two idle subchannels to an endpoint, a call connects the newer one, which is the policy's.
func TestIdleSubchannelOfThePolicyConnects(t *testing.T) {
	inSession(t, func(s *sessionStage) {
		s.first("a")
		s.drain(0, endpoint.HealthDraining)
		owned := s.open("a")[0]
		s.become("a", connectivity.Idle)
		s.drain(0, endpoint.HealthHealthy)
		s.become("a", connectivity.Idle)
		open := s.open("a")
		if len(open) != 2 || open[0] != owned {
			t.Fatalf("the endpoint has %d connections; want that of the session, and that of the policy", len(open))
		}
		connects := func() (ofSession, ofPolicy int) {
			s.loop.Do(func() { ofSession, ofPolicy = owned.connects, open[1].connects })
			return ofSession, ofPolicy
		}
		session, policy := connects()
		s.expect("both are idle", "a", "waits")
		if n, m := connects(); n != session || m != policy+1 {
			t.Errorf("a call connects the session's subchannel %d times, and the policy's %d times; want 0 and 1", n-session, m-policy)
		}
	}, "a", "b")
}

// A channel sends the calls of a session to its endpoint, by the cluster of the call. Other calls follow the policy.
func TestChannelPicksForSessions(t *testing.T) {
	inSession(t, func(s *sessionStage) {
		s.first("a")
		child := new(slot)
		child.set(s.picker())
		p := &routePicker{children: map[string]*slot{"c": child}}
		sent := func(ctx context.Context, p *routePicker) map[string]int {
			sent := make(map[string]int)
			for range 4 {
				r, err := p.Pick(balancer.PickInfo{Ctx: ctx})
				if err != nil {
					t.Fatal(err)
				}
				r.Done(balancer.DoneInfo{BytesSent: true})
				sent[r.SubConn.(*connection).addr]++
			}
			return sent
		}
		both, only := map[string]int{"a": 2, "b": 2}, map[string]int{"a": 4}
		ofSession := lbtree.WithCall(t.Context(), &lbtree.Call{Cluster: "c", Affinity: &lbtree.Affinity{Addresses: []string{"a"}}})
		if got := sent(ofSession, p); !maps.Equal(got, only) {
			t.Errorf("calls of a session are sent to %v; want %v", got, only)
		}
		if got := sent(lbtree.WithCall(t.Context(), &lbtree.Call{Cluster: "c"}), p); !maps.Equal(got, both) {
			t.Errorf("calls without a session are sent to %v; want %v", got, both)
		}
		if got := sent(t.Context(), &routePicker{cluster: "c", children: p.children}); !maps.Equal(got, both) {
			t.Errorf("calls without a route are sent to %v; want %v", got, both)
		}
	}, "a", "b")
}

// A shorter idle timeout applies to the connections that sessions have.
func TestShorterIdleTimeout(t *testing.T) {
	inSession(t, func(s *sessionStage) {
		s.first("a")
		s.drain(0, endpoint.HealthDraining)
		s.config.Update.IdleTimeout = time.Second
		s.update()
		s.pass(minSweep + time.Second)
		if len(s.open("a")) != 0 {
			t.Error("the connection is open after the shorter idle timeout")
		}
	}, "a", "b")
}

// Without sessions, the policy's subchannels to draining endpoints end.
func TestDrainingWithoutSessions(t *testing.T) {
	inSession(t, func(s *sessionStage) {
		s.drain(0, endpoint.HealthDraining)
		if len(s.open("a")) != 0 {
			t.Error("the connection to the draining endpoint is open")
		}
	}, "a", "b")
}

// A session prefers a ready address, then connects an idle one, then waits for one that connects.
func TestAddressesOfASession(t *testing.T) {
	inSession(t, func(s *sessionStage) {
		s.first("a")
		s.expect("all are ready", "b,a", "b")
		s.become("b", connectivity.Idle)
		s.expect("the second is ready", "b,a", "a")
		s.become("a", connectivity.TransientFailure)
		s.expect("the first is idle", "b,a", "waits")
		s.become("b", connectivity.TransientFailure)
		s.expect("none is usable", "b,a", "c")
		s.expect("none is known", "x,y", "c")
		s.become("a", connectivity.Ready)
		s.become("b", connectivity.Ready)
		s.config.Localities[0].Endpoints[1].Health = endpoint.HealthHealthy
		s.config.Update.OverrideHosts.Unknown = false
		s.update()
		s.expect("the status of the first is not one of the cluster's", "a,b", "b")
	}, "a", "b", "c")
}

// Calls to draining endpoints count in the load of their locality, and a waiting call is considered for dropping once.
func TestLoadOfSessions(t *testing.T) {
	inSession(t, func(s *sessionStage) {
		store := load.NewStore(nil)
		s.cluster.tree.State.Loads = stores{store: store}
		s.config.Update.LoadReports = serverAt(t, "a")
		s.config.Localities[0].ID = endpoint.LocalityID{Region: "r"}
		s.drain(0, endpoint.HealthDraining)
		s.become("b", connectivity.Ready) // of the new locality
		a := &lbtree.Affinity{Addresses: []string{"a"}}
		if got := s.pick(a); got != "waits" || !a.Considered {
			t.Fatalf("the first call is sent to %s, and was considered for dropping: %t; want it to wait, and true", got, a.Considered)
		}
		s.config.Drops = []endpoint.Drop{{Category: "all", PerMillion: million}}
		s.update()
		if got := s.pick(a); got != "waits" { // for the connection
			t.Fatalf("a call that was considered for dropping is sent to %s; want it to wait", got)
		}
		s.become("a", connectivity.Ready)
		if got := s.pick(a); got != "a" || a.Considered {
			t.Errorf("the call is sent to %s, and considered: %t; want a, and false for the next attempt", got, a.Considered)
		}
		var calls uint64
		for _, c := range store.Totals() {
			for _, l := range c.GetUpstreamLocalityStats() {
				if l.GetLocality().GetRegion() == "r" {
					calls += l.GetTotalIssuedRequests()
				}
			}
		}
		if calls != 1 {
			t.Errorf("the load of the locality has %d calls; want 1", calls)
		}
	}, "a", "b")
}

// A pick for a session does not allocate.
func TestSessionPickDoesNotAllocate(t *testing.T) {
	inSession(t, func(s *sessionStage) {
		s.first("a")
		a := &lbtree.Affinity{Addresses: []string{"b", "a"}}
		p, info := s.picker(), balancer.PickInfo{Ctx: t.Context()}
		if n := testing.AllocsPerRun(100, func() {
			if r, err := p.pick(info, a); err == nil {
				r.Done(balancer.DoneInfo{BytesSent: true})
			}
		}); n != 0 {
			t.Errorf("a pick for a session allocates %v times; want 0", n)
		}
	}, "a", "b")
}

// A session leaves an endpoint that outlier detection ejects, as in Envoy, and stays on the next one.
func TestSessionsLeaveEjectedEndpoints(t *testing.T) {
	inSession(t, func(s *sessionStage) {
		a := &lbtree.Affinity{Addresses: []string{"a"}}
		s.pick(a) // the first call starts the sessions
		if got := s.pick(a); got != "a" {
			t.Fatalf("the call goes to %s; want a", got)
		}
		for _, ejected := range []bool{true, false} {
			s.loop.Do(func() {
				s.cluster.conn.mu.Lock()
				sc := s.cluster.conn.addresses["a"].best()
				s.cluster.conn.mu.Unlock()
				sc.eject(ejected)
			})
			got := map[string]int{}
			for range 20 {
				got[s.pick(a)]++
			}
			if ejected && got["a"] > 0 || !ejected && got["a"] != 20 {
				t.Errorf("ejected %t: the calls go to %v; want a only without ejection", ejected, got)
			}
		}
	}, "a", "b")
}
