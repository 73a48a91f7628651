package grpcxds

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// A program that waits for a channel to be ready needs one Connect, as of any channel. It
// connects the first cluster by name; a call connects nothing but its own cluster.
func TestConnect(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		const a, b = "10.0.0.1:80", "10.0.0.2:80"
		w.backend(a)
		w.backend(b)
		w.cluster("a", "10.0.0.1", 80)
		w.cluster("b", "10.0.0.2", 80)
		w.apiListener("svc", `route_config { virtual_hosts { domains: "svc"
			routes { match { prefix: "" headers { name: "to" string_match { exact: "a" } } } route { cluster: "a" } }
			routes { match { prefix: "" } route { cluster: "b" } } } }`)
		connections := func(when string, toA, toB int64) {
			w.Helper()
			w.pass(time.Second)
			if x, y := w.sockets[a].dialed.Load(), w.sockets[b].dialed.Load(); x != toA || y != toB {
				w.Errorf("%s: %d connections to cluster a and %d to cluster b; want %d and %d", when, x, y, toA, toB)
			}
		}
		cc := w.channelXDS("xds:///svc")
		connections("before Connect", 0, 0)
		cc.Connect()
		connections("after Connect", 1, 0)
		if s := cc.GetState(); s != connectivity.Ready {
			w.Errorf("the channel is %v; want READY", s)
		}
		c := testpb.NewTestServiceClient(w.channelXDS("xds:///svc"))
		w.expect("a call of another channel", w.call(c, time.Second), codes.OK)
		connections("after a call to b", 1, 1)
		w.expect("another call", w.call(c, time.Second, "to", "a"), codes.OK)
		connections("after a call to a", 2, 1)
	})
}
