package pool

import (
	"testing"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// TestSpentConnection expects a connection to take as many requests as the limit allows, also if several requests find it at
// once. The next request gets another connection, and the first one closes after its requests.
func TestSpentConnection(t *testing.T) {
	w := newWorld(t, HTTP2)
	var counters breaker.Set
	circuit := new(breaker.Circuit)
	limits := breaker.Limits{PerConnection: 2}
	limits.Most[breaker.Connections], limits.Most[breaker.Pending] = 2, 1
	circuit.Set(counters.Acquire("c", ""), limits)
	states := make(chan balancer.SubConnState, 100)
	address := resolver.Address{Addr: w.addr, Attributes: lbtree.WithHTTP(nil, lbtree.HTTP{Circuit: circuit})}
	made, err := w.tree.NewSubConn([]resolver.Address{address}, balancer.NewSubConnOptions{StateListener: func(s balancer.SubConnState) { states <- s }})
	if err != nil {
		t.Fatal(err)
	}
	sc := made.(*SubConn)
	sc.Connect()
	w.await(states, connectivity.Ready)
	w.tree.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: pick{sc}})
	acquire := func() Lease {
		t.Helper()
		l, err := w.tree.Acquire(balancer.PickInfo{Ctx: t.Context()}, false)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	first, second := acquire(), acquire()
	if first.conn != second.conn {
		t.Fatal("two requests have two connections of HTTP/2")
	}
	if first.reserve() {
		t.Error("a connection takes a third request; want the limit of two")
	}
	third := acquire()
	if third.conn == first.conn {
		t.Error("the third request has the first connection")
	}
	if used, _, _ := circuit.Use(breaker.Connections); used != 2 {
		t.Errorf("%d connections are counted; want 2", used)
	}
	first.Release()
	if first.Err() != nil {
		t.Error("the first connection is closed before its second request has ended")
	}
	second.Release()
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	for first.Err() == nil {
		select {
		case <-timer.C:
			t.Fatal("the first connection stays open after its requests")
		default:
		}
	}
	if used, _, _ := circuit.Use(breaker.Connections); used != 1 {
		t.Errorf("%d connections are counted after one has closed; want 1", used)
	}
	third.Release()
}
