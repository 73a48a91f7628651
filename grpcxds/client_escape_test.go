package grpcxds_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// counting returns a backend that counts its calls.
func counting(t testing.TB) (*backend, *atomic.Int64) {
	var n atomic.Int64
	return newBackend(t, "b", grpc.StreamInterceptor(func(_ any, s grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		n.Add(1)
		if err := s.RecvMsg(new(wrapperspb.StringValue)); err != nil {
			return err
		}
		return s.SendMsg(wrapperspb.String(""))
	})), &n
}

// Calls of a channel do not escape ext_authz or ext_proc with failure_mode_allow: a full circuit breaker of the service's cluster
// refuses their checks, because other calls fill it, and large metadata end the call.
func TestChannelsDoNotEscape(t *testing.T) {
	x, err := fakeextproc.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Stop)
	a := authz(t)
	proc := strings.NewReplacer(`"authz"`, `"proc"`, "ext_authz.v3.ExtAuthz", "ext_proc.v3.ExternalProcessor").Replace(extAuthz("xds:///guard", "failure_mode_allow: true processing_mode {}"))
	for name, guard := range map[string]struct{ addr, filter string }{
		"ext_authz": {a.Addr(), extAuthz("xds:///guard", "failure_mode_allow: true")},
		"ext_proc":  {x.Addr(), proc},
	} {
		p := newPlane(t)
		b, ran := counting(t)
		p.cluster("c", "e", b)
		_, port, _ := net.SplitHostPort(guard.addr)
		number, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		p.set("guard", new(clusterv3.Cluster), `name: "guard" type: EDS eds_cluster_config { eds_config { ads {} } } circuit_breakers { thresholds { max_requests { value: 0 } } }`)
		p.endpoints("guard", &backend{port: number})
		p.listener("guard", `route_config { name: "r" `+hosts("*", to("guard"))+`}`)
		p.listener("svc", guard.filter+`route_config { name: "r" `+hosts("*", to("c"))+`}`)
		env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "allowed_grpc_services": {"xds:///guard": {"channel_creds": [{"type": "insecure"}]}}}`, p.entry()))
		cc := newChannel(t, env, "xds:///svc")
		for range 3 {
			_, err = call(soon(t), cc, "/p.S/M")
			if code := status.Code(err); code != codes.PermissionDenied && code != codes.Internal || ran.Load() > 0 {
				t.Errorf("%s, a full circuit breaker: %v, %d calls reach the backend; want a failure and none", name, err, ran.Load())
			}
		}
		large := metadata.AppendToOutgoingContext(soon(t), "x", strings.Repeat("a", 2<<20))
		if _, err = call(large, cc, "/p.S/M"); err == nil || ran.Load() > 0 {
			t.Errorf("%s, 2 MiB of metadata: %v, %d calls reach the backend; want a failure and none", name, err, ran.Load())
		}
	}
}
