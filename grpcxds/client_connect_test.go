package grpcxds

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
)

// Connect and WaitForStateChange work as on any channel. Connect connects the first cluster by
// name. A call connects only its own cluster.
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

// A program waits for a channel to be ready. The channel's only call ends before it needs an endpoint. The
// channel connects then.
func TestConnectBesideAnAbortedCall(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		w.backend("10.0.0.1:80")
		w.cluster("a", "10.0.0.1", 80)
		w.apiListener("svc", `http_filters { name: "fault" typed_config {
				[type.googleapis.com/envoy.extensions.filters.http.fault.v3.HTTPFault] {
					delay { fixed_delay { seconds: 10 } percentage { numerator: 100 } }
					abort { grpc_status: 10 percentage { numerator: 100 } } } } }
			route_config { virtual_hosts { domains: "svc" routes { match { prefix: "" } route { cluster: "a" } } } }`)
		cc := w.channelXDS("xds:///svc")
		aborted := make(chan *status.Status)
		go func() { aborted <- w.call(testpb.NewTestServiceClient(cc), 20*time.Second) }()
		ctx, cancel := context.WithTimeout(w.Context(), time.Hour)
		defer cancel()
		for s := cc.GetState(); s != connectivity.Ready; s = cc.GetState() {
			if s == connectivity.Idle {
				cc.Connect()
			}
			if !cc.WaitForStateChange(ctx, s) {
				w.Fatalf("the channel is %v after an hour", s)
			}
		}
		w.expect("the call", <-aborted, codes.Aborted)
	})
}

// All channels of a data-plane target share an xDS client, and so do all servers. All clients share
// the connection to a control plane (A71, A47).
func TestTargetsHaveClientsOfTheirOwn(t *testing.T) {
	inMemory(t, func(w *memoryWorld) {
		streams := func(when string, want int) {
			w.Helper()
			w.pass(time.Second)
			if open, n := w.plane.Open(), w.plane.Connections(); open != want || n != 1 {
				w.Errorf("%s: %d streams on %d connections; want %d on one", when, open, n, want)
			}
		}
		connect := func(target string) *grpc.ClientConn {
			cc := w.channelXDS(target)
			cc.Connect()
			return cc
		}
		first := connect("xds:///a")
		streams("a channel", 1)
		again := connect("xds:///a")
		streams("another one of the target", 1)
		connect("xds:///b")
		streams("one of another target", 2)
		w.serve("10.0.0.1:80")
		w.serve("10.0.0.2:80")
		streams("two servers", 3)
		_ = first.Close()
		streams("one of two channels of a target is closed", 3)
		_ = again.Close()
		streams("both are closed", 2)
	})
}
