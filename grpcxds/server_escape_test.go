package grpcxds

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3"  // for prototext
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/fakeauthz"
	"github.com/xdsforge/xdsforge/internal/fakeextproc"
)

// A guarded server has a filter with failure_mode_allow, whose service denies all calls. ran counts those that reach the handler.
type guarded struct {
	*site
	ran *atomic.Int64
}

// guard starts the server. The filter has the service at addr. allowed are further services that the bootstrap allows.
func guard(t *testing.T, addr, filter string) *guarded {
	t.Helper()
	plane, err := controlplane.Start([]string{listenerMessage, routeMessage})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	w := newWorldOf(t, plane, fmt.Sprintf(`{"node": {"id": "web-1"}, "server_listener_resource_name_template": "server/%%s", "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}],
		"allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}}`, plane.Addr(), addr))
	g := &guarded{ran: new(atomic.Int64)}
	g.site = w.serve(grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
		g.ran.Add(1)
		return h(ctx, req)
	}))
	w.publishListener(g.listener(fmt.Sprintf(`http_filters { name: "guard" typed_config { %s } } `, fmt.Sprintf(filter, addr)) + inline(anyRoute)))
	g.awaitServing()
	return g
}

const (
	guardAuthz = `[type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz] { grpc_service { google_grpc { target_uri: %q } timeout { seconds: 5 } } failure_mode_allow: true }`
	guardProc  = `[type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor] { grpc_service { google_grpc { target_uri: %q } } processing_mode {} failure_mode_allow: true }`
)

// guards starts a server with each filter. opts are of the service.
func guards(t *testing.T, opts []grpc.ServerOption, test func(*testing.T, *guarded)) {
	t.Run("ext_authz", func(t *testing.T) {
		a, err := fakeauthz.Start(opts...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(a.Stop)
		a.Decide(func(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) {
			return fakeauthz.Deny(403, "no"), nil
		})
		test(t, guard(t, a.Addr(), guardAuthz))
	})
	t.Run("ext_proc", func(t *testing.T) {
		x, err := fakeextproc.Start(opts...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(x.Stop)
		x.Handle(func(s fakeextproc.Stream) error {
			if _, err := s.Recv(); err != nil {
				return err
			}
			return s.Send(&extprocv3.ProcessingResponse{Response: &extprocv3.ProcessingResponse_ImmediateResponse{
				ImmediateResponse: &extprocv3.ImmediateResponse{GrpcStatus: &extprocv3.GrpcStatus{Status: uint32(codes.PermissionDenied)}},
			}})
		})
		test(t, guard(t, x.Addr(), guardProc))
	})
}

// No deadline, cancellation, size or text of a caller makes it escape a filter with failure_mode_allow whose service denies all calls.
func TestCallersDoNotEscape(t *testing.T) {
	guards(t, nil, func(t *testing.T, g *guarded) {
		var all sync.WaitGroup
		for range 8 {
			c := g.dial()
			if st := g.call(c); st.Code() != codes.PermissionDenied {
				t.Fatal(st)
			}
			all.Go(func() {
				for i := range 500 {
					ctx, cancel := context.WithTimeout(g.ctx, time.Duration(rand.IntN(3_000_000)))
					if i%2 == 0 {
						time.AfterFunc(time.Duration(rand.IntN(1_000_000)), cancel)
					}
					_, _ = c.EmptyCall(ctx, &testpb.Empty{})
					cancel()
				}
			})
		}
		all.Wait()
		if n := g.ran.Swap(0); n > 0 {
			t.Errorf("the handler ran for %d of 4000 calls with short deadlines", n)
		}
		c := g.dial()
		for _, size := range []int{1, 1 << 19, 1 << 20, 3 << 20, 5 << 20, 12 << 20} {
			if _, err := c.EmptyCall(metadata.AppendToOutgoingContext(g.ctx, "x", strings.Repeat("a", size)), &testpb.Empty{}); g.ran.Load() > 0 || err == nil {
				t.Errorf("%d bytes of metadata: the handler runs (%v)", size, err)
			}
		}
		cc := g.channel()
		for _, md := range [][]string{{"x", "\xff"}, {"x-bin", "\xff\x00"}, {"x", ""}, {"x", strings.Repeat("é", 1000)}, {"host", "a"}, {"te", "x"}, {"grpc-status", "0"}} {
			for _, method := range []string{"/grpc.testing.TestService/EmptyCall", "/grpc.testing.TestService/\xff"} {
				for _, authority := range []string{"a", "\xff", "a\x80b"} {
					err := cc.Invoke(metadata.AppendToOutgoingContext(g.ctx, md...), method, &testpb.Empty{}, &testpb.Empty{}, grpc.CallAuthority(authority))
					if err == nil || g.ran.Load() > 0 {
						t.Errorf("%q %q %q: %v; %d calls reach the handler", md, method, authority, err, g.ran.Load())
					}
				}
			}
		}
		many := make([]string, 0, 20_000)
		for i := range 10_000 {
			many = append(many, fmt.Sprint("x-", i), "1")
		}
		if _, err := c.EmptyCall(metadata.AppendToOutgoingContext(g.ctx, many...), &testpb.Empty{}); err == nil || g.ran.Load() > 0 {
			t.Errorf("10,000 headers: %v; the handler ran %d times", err, g.ran.Load())
		}
	})
}

// Many calls at once do not escape, although the service handles one at a time.
func TestManyCallsDoNotEscape(t *testing.T) {
	guards(t, []grpc.ServerOption{grpc.MaxConcurrentStreams(1)}, func(t *testing.T, g *guarded) {
		c := g.dial()
		var all sync.WaitGroup
		var denied atomic.Int64
		for range 300 {
			all.Go(func() {
				if _, err := c.EmptyCall(g.ctx, &testpb.Empty{}); status.Code(err) == codes.PermissionDenied {
					denied.Add(1)
				}
			})
		}
		all.Wait()
		if n := g.ran.Load(); n > 0 || denied.Load() == 0 {
			t.Errorf("the handler ran for %d of 300 calls, %d are denied; want 0 and some", n, denied.Load())
		}
	})
}
