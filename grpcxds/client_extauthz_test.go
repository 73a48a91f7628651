package grpcxds_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"                     // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/insecure/v3" // for prototext
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeauthz"
)

// authz starts an authorization server.
func authz(t testing.TB, opts ...grpc.ServerOption) *fakeauthz.Server {
	t.Helper()
	s, err := fakeauthz.Start(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

// extAuthz returns the filter with the name "authz".
func extAuthz(target, more string) string {
	return fmt.Sprintf(`http_filters { name: "authz" typed_config { [type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz] {
		grpc_service { google_grpc { target_uri: %q channel_credentials_plugin { [type.googleapis.com/envoy.extensions.grpc_service.channel_credentials.insecure.v3.InsecureCredentials] {} } } } %s } } } `, target, more)
}

// headersOf returns a backend that answers with the values of a header.
func headersOf(t testing.TB, name string) *backend {
	return newBackend(t, "b", grpc.StreamInterceptor(func(_ any, s grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		if err := s.RecvMsg(new(wrapperspb.StringValue)); err != nil {
			return err
		}
		md, _ := metadata.FromIncomingContext(s.Context())
		_ = s.SetHeader(metadata.Pairs("x-backend", "1"))
		return s.SendMsg(wrapperspb.String(strings.Join(md[name], ",")))
	}))
}

// A channel asks the authorization server before each call. The bootstrap or the trust in the control plane allows the server.
// Overrides disable the filter.
func TestExtAuthz(t *testing.T) {
	const off = `typed_per_filter_config { key: "authz" value { [type.googleapis.com/envoy.config.route.v3.FilterConfig] { disabled: true } } } `
	for _, trusted := range []bool{false, true} {
		p, a := newPlane(t), authz(t)
		config := fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}}`, p.entry(), a.Addr())
		if trusted {
			entry := strings.TrimSuffix(p.entry(), "}") + `, "server_features": ["trusted_xds_server"]}`
			config = fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, entry)
		}
		p.cluster("c", "e", headersOf(t, "x-user"))
		a.Decide(func(_ context.Context, m *authv3.CheckRequest) (*authv3.CheckResponse, error) {
			h := m.GetAttributes().GetRequest().GetHttp()
			if h.GetPath() == "/p.S/Denied" {
				return fakeauthz.Deny(401, "go\naway", fakeauthz.Header("x-reason", "no token", 0)), nil
			}
			if h.GetMethod() != "POST" || h.GetSize() != -1 || h.GetProtocol() != "HTTP/2" || m.GetAttributes().GetSource() != nil {
				return nil, status.Errorf(codes.Internal, "a wrong request: %v", m)
			}
			return fakeauthz.Allow(&authv3.OkHttpResponse{
				Headers:              []*corev3.HeaderValueOption{fakeauthz.Header("x-user", "bob", corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD)},
				ResponseHeadersToAdd: []*corev3.HeaderValueOption{fakeauthz.Header("x-backend", "2", 0)},
			}), nil
		})
		p.listener("svc", extAuthz(a.Addr(), "")+`route_config { name: "r" `+hosts("*", `routes { match { prefix: "/open" } `+off+` route { cluster: "c" } } `+to("c"))+`}`)
		cc := newChannel(t, newEnv(t, config), "xds:///svc")
		ctx := metadata.AppendToOutgoingContext(soon(t), "x-user", "mallory")
		var header, trailer metadata.MD
		if got, err := call(ctx, cc, "/p.S/M", grpc.Header(&header)); got != "bob" || err != nil {
			t.Errorf("trusted %t: the backend receives the user %q, %v; want bob", trusted, got, err)
		}
		if got := strings.Join(header["x-backend"], ","); got != "1,2" {
			t.Errorf("trusted %t: the header x-backend is %q; want 1,2", trusted, got)
		}
		_, err := call(ctx, cc, "/p.S/Denied", grpc.Trailer(&trailer))
		if status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), `go\naway`) {
			t.Errorf("trusted %t: a denied call: %v; want UNAUTHENTICATED with the escaped text", trusted, err)
		}
		if got := strings.Join(trailer["x-reason"], ","); got != "no token" {
			t.Errorf("trusted %t: the trailer x-reason is %q; want the one of the response", trusted, got)
		}
		before := a.Checks.Load()
		if got, err := call(ctx, cc, "/open/M"); got != "mallory" || err != nil || a.Checks.Load() != before {
			t.Errorf("trusted %t: a route that disables the filter: %q, %v, %d checks; want mallory and none", trusted, got, err, a.Checks.Load()-before)
		}
	}
}

// A resource of an untrusted server may name only an allowed service.
func TestExtAuthzNeedsAnAllowedService(t *testing.T) {
	p, a := newPlane(t), authz(t)
	p.cluster("c", "e", headersOf(t, "x"))
	p.listener("svc", extAuthz(a.Addr(), "")+`route_config { name: "r" `+hosts("*", to("c"))+`}`)
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "allowed_grpc_services": {"other:1": {"channel_creds": [{"type": "insecure"}]}}}`, p.entry()))
	_, err := call(soon(t), newChannel(t, env, "xds:///svc"), "/p.S/M")
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), "allowed_grpc_services") || a.Connections.Load() != 0 {
		t.Errorf("a call: %v, %d connections to the service; want UNAVAILABLE, the rule and none", err, a.Connections.Load())
	}
}
