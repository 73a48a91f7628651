package grpcxds_test

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A unix socket is no endpoint (A27): a ClusterLoadAssignment with one is rejected as a whole, with the reason in the status of calls. It
// does not replace an earlier one, and no call reaches the socket, although a server listens there.
func TestUnixSocketAsEndpoint(t *testing.T) {
	p := newPlane(t)
	good := newBackend(t, "good")
	path := filepath.Join(t.TempDir(), "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	(&backend{name: "unix"}).start(t, l)
	pipe := func(service string, others ...*backend) {
		text := fmt.Sprintf(`lb_endpoints { endpoint { address { pipe { path: %q } } } } `, path)
		for _, b := range others {
			text += fmt.Sprintf(`lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: %d } } } } `, b.port)
		}
		p.set(service, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { locality { region: "r" } load_balancing_weight { value: 1 } %s }`, service, text)
	}
	p.cluster("c", "c", good)
	p.cluster("d", "d")
	pipe("d", good)
	p.listener("c", `route_config { `+hosts("*", to("c"))+` }`)
	p.listener("d", `route_config { `+hosts("*", to("d"))+` }`)
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()))
	if got, err := call(soon(t), newChannel(t, env, "xds:///d"), "/p.S/M"); status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "pipe") && !strings.Contains(err.Error(), "socket_address") {
		t.Errorf("a call to a cluster with a unix socket: %q, %v; want UNAVAILABLE, and the reason", got, err)
	}
	cc := newChannel(t, env, "xds:///c")
	until(t, cc, "good")
	before := len(p.Rejections())
	pipe("c")
	for len(p.Rejections()) == before {
		if got, err := call(soon(t), cc, "/p.S/M"); got != "good" {
			t.Fatalf("a call while the endpoints become a unix socket: %q, %v", got, err)
		}
	}
	for range 50 {
		if got, err := call(soon(t), cc, "/p.S/M"); got != "good" {
			t.Errorf("a call after a rejected update: %q, %v", got, err)
		}
	}
	p.cluster("c", "c", newBackend(t, "newer"))
	until(t, cc, "newer")
}
