package clusterimpl

import (
	"testing"
	"time"

	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/grpcxds/internal/balancer/breaker"
)

// A call that was picked for and not sent is no success.
func TestCallsThatAreNotSent(t *testing.T) {
	store := load.NewStore(nil)
	c := store.Cluster("c", "")
	var breakers breaker.Set
	a := (&account{breaker: breakers.Acquire("c", ""), load: c.Locality(load.LocalityID{}, load.Propagation{})}).open()
	for _, info := range []balancer.DoneInfo{{}, {BytesSent: true, BytesReceived: true}} {
		a.breaker.Start(1)
		a.start()
		a.done(info)
	}
	stats := store.Cut(load.Scope{All: true}, time.Now()).Stats
	if len(stats) != 1 || len(stats[0].GetUpstreamLocalityStats()) != 1 {
		t.Fatalf("the report is %v", stats)
	}
	if l := stats[0].GetUpstreamLocalityStats()[0]; l.GetTotalSuccessfulRequests() != 1 || l.GetTotalErrorRequests() != 1 {
		t.Errorf("of two calls, one of which was sent, the report says %v", l)
	}
}
