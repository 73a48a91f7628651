package grpcxds

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3" // for prototext
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/fakeauthz"
)

// A server asks the authorization server before each call, and describes both ends of the connection. Filters after it see the
// changed headers.
func TestServerExtAuthz(t *testing.T) {
	v := newVault(t)
	plane, err := controlplane.Start([]string{listenerMessage, routeMessage})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	a, err := fakeauthz.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Stop)
	config := strings.TrimSuffix(v.bootstrap(plane), "}") + fmt.Sprintf(`, "allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}}`, a.Addr())
	w := newWorldOf(t, plane, config)
	s := w.serve(Creds(insecure.NewCredentials()))
	var last *authv3.AttributeContext // written before the response, which the client waits for
	user := "bob"
	a.Decide(func(_ context.Context, m *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		last = m.GetAttributes()
		if user == "" {
			return fakeauthz.Deny(401, "nobody", fakeauthz.Header("x-reason", "1", 0)), nil
		}
		return fakeauthz.Allow(&authv3.OkHttpResponse{
			Headers:              []*corev3.HeaderValueOption{fakeauthz.Header("x-user", user, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD)},
			ResponseHeadersToAdd: []*corev3.HeaderValueOption{fakeauthz.Header("x-checked", "1", 0)},
		}), nil
	})
	filters := fmt.Sprintf(`http_filters { name: "authz" typed_config { [type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz] { grpc_service { google_grpc { target_uri: %q } } } } }
		http_filters { name: "rbac" typed_config { [type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC] { rules { policies { key: "admins" value {
			permissions { any: true } principals { header { name: "x-user" string_match { exact: "admin" } } } } } } } } } `, a.Addr())
	w.publishListener(withTLS(s.listener(filters + inline(anyRoute))))
	s.awaitServing()
	c := s.dial(grpc.WithTransportCredentials(v.client()))
	call := func(opts ...grpc.CallOption) codes.Code {
		ctx := metadata.AppendToOutgoingContext(s.ctx, "x-user", "admin")
		_, err := c.EmptyCall(ctx, &testpb.Empty{}, opts...)
		return status.Code(err)
	}
	if got := call(); got != codes.PermissionDenied {
		t.Errorf("a forged header: %v; want PERMISSION_DENIED, because RBAC sees the header of the authorization server", got)
	}
	if src, dst := last.GetSource(), last.GetDestination(); src.GetPrincipal() != "server.example" || dst.GetPrincipal() != "server.example" ||
		src.GetAddress().GetSocketAddress().GetAddress() != "127.0.0.1" || int(dst.GetAddress().GetSocketAddress().GetPortValue()) != s.port {
		t.Errorf("source %v, destination %v; want the names of both certificates and the addresses", src, dst)
	}
	user = "admin"
	var header, trailer metadata.MD
	if got := call(grpc.Header(&header)); got != codes.OK || strings.Join(header["x-checked"], ",") != "1" {
		t.Errorf("an allowed call: %v, header %v; want OK and x-checked", got, header)
	}
	stream, err := c.FullDuplexCall(s.ctx)
	if err != nil {
		t.Fatal(err)
	}
	ping(t, stream)
	if md, err := stream.Header(); err != nil || strings.Join(md["x-checked"], ",") != "1" {
		t.Errorf("an allowed stream: header %v, %v; want x-checked", md, err)
	}
	finish(t, stream)
	user = ""
	if got := call(grpc.Trailer(&trailer)); got != codes.Unauthenticated || strings.Join(trailer["x-reason"], ",") != "1" {
		t.Errorf("a denied call: %v, trailer %v; want UNAUTHENTICATED and x-reason", got, trailer)
	}
	if n := a.Connections.Load(); n != 1 {
		t.Errorf("%d connections to the authorization server; want 1", n)
	}
}
