package grpcxds_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"                    // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/grpc_service/channel_credentials/insecure/v3" // for prototext
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/internal/fakeauthz"
	"github.com/xdsforge/xdsforge/internal/testca"
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

// The channel to the authorization server survives updates, and belongs to all channels of the Env. It is closed with the last of
// them. 10,000 updates under calls lose no call and no check.
func TestExtAuthzUnderUpdates(t *testing.T) {
	p, a := newPlane(t), authz(t)
	p.cluster("c", "e", headersOf(t, "x-user"))
	a.Decide(func(context.Context, *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		return fakeauthz.Allow(&authv3.OkHttpResponse{Headers: []*corev3.HeaderValueOption{fakeauthz.Header("x-user", "bob", 0)}}), nil
	})
	listen := func(name string, i int) {
		p.listener(name, extAuthz(a.Addr(), fmt.Sprintf(`stat_prefix: "%d"`, i))+`route_config { name: "r" `+hosts("*", to("c"))+`}`)
	}
	listen("one", 0)
	listen("two", 0)
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "allowed_grpc_services": {%q: {"channel_creds": [{"type": "insecure"}]}}}`, p.entry(), a.Addr()))
	one, two := newChannel(t, env, "xds:///one"), newChannel(t, env, "xds:///two")
	ctx := soon(t)
	var callers sync.WaitGroup
	var calls atomic.Int64
	done := make(chan struct{})
	for _, cc := range []*grpc.ClientConn{one, two, one, two} {
		callers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				if got, err := call(ctx, cc, "/p.S/M"); got != "bob" || err != nil {
					t.Errorf("a call during updates: the user %q, %v; want bob", got, err)
					return
				}
				calls.Add(1)
			}
		})
	}
	const updates = 10_000
	for i := range updates {
		listen([]string{"one", "two"}[i%2], i+1)
	}
	close(done)
	callers.Wait()
	if n := a.Checks.Load(); n != calls.Load() || n == 0 {
		t.Errorf("%d checks of %d calls; want one for each", n, calls.Load())
	}
	if n := a.Connections.Load(); n != 1 {
		t.Errorf("%d connections to the authorization server; want 1 for all updates and channels", n)
	}
}

// A service may have a target with the scheme xds. The channel to it has its own filters, but those cannot use services.
func TestServiceByXDS(t *testing.T) {
	for _, nested := range []bool{false, true} {
		p, a := newPlane(t), authz(t)
		_, port, err := net.SplitHostPort(a.Addr())
		if err != nil {
			t.Fatal(err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		p.cluster("c", "e", headersOf(t, "x-user"))
		p.cluster("authz", "f", &backend{port: number})
		filter := ""
		if nested {
			filter = extAuthz("xds:///authz", "")
		}
		p.listener("authz", filter+`route_config { name: "r" `+hosts("*", to("authz"))+`}`)
		p.listener("svc", extAuthz("xds:///authz", "")+`route_config { name: "r" `+hosts("*", to("c"))+`}`)
		env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "allowed_grpc_services": {"xds:///authz": {"channel_creds": [{"type": "insecure"}]}}}`, p.entry()))
		_, err = call(soon(t), newChannel(t, env, "xds:///svc"), "/p.S/M")
		switch {
		case !nested && (err != nil || a.Checks.Load() != 1):
			t.Errorf("%v, %d checks; want OK and one", err, a.Checks.Load())
		case nested && (status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), "must not use other services") || a.Checks.Load() != 0):
			t.Errorf("a service that needs itself: %v, %d checks; want PERMISSION_DENIED with the reason", err, a.Checks.Load())
		}
	}
}

// A trusted control plane may choose TLS by certificate provider instances, with a certificate of its own. The server's
// certificate must have the name of the target. A token is sent.
func TestServiceByTLS(t *testing.T) {
	ca, err := testca.New("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Issue(x509.Certificate{DNSNames: []string{"localhost"}})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := errors.Join(testca.Write(filepath.Join(dir, "ca.pem"), ca.PEM()), testca.WritePair(dir, pair)); err != nil {
		t.Fatal(err)
	}
	a := authz(t, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: ca.Pool(), ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12})))
	provider := fmt.Sprintf(`{"plugin_name": "file_watcher", "config": {"certificate_file": %q, "private_key_file": %q, "ca_certificate_file": %q}}`,
		filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), filepath.Join(dir, "ca.pem"))
	for target, ok := range map[string]bool{"localhost": true, "127.0.0.1": false} {
		p := newPlane(t)
		p.cluster("c", "e", headersOf(t, "x-user"))
		a.Decide(func(ctx context.Context, _ *authv3.CheckRequest) (*authv3.CheckResponse, error) {
			md, _ := metadata.FromIncomingContext(ctx)
			pr, _ := peer.FromContext(ctx)
			if certs := pr.AuthInfo.(credentials.TLSInfo).State.PeerCertificates; len(certs) != 1 || strings.Join(md["authorization"], ",") != "Bearer secret" {
				return nil, status.Errorf(codes.Unauthenticated, "%d certificates, headers %v", len(certs), md)
			}
			return fakeauthz.Allow(nil), nil
		})
		_, port, err := net.SplitHostPort(a.Addr())
		if err != nil {
			t.Fatal(err)
		}
		p.listener("svc", strings.Replace(extAuthz("dns:///"+target+":"+port, ""), `[type.googleapis.com/envoy.extensions.grpc_service.channel_credentials.insecure.v3.InsecureCredentials] {}`,
			`[type.googleapis.com/envoy.extensions.grpc_service.channel_credentials.tls.v3.TlsCredentials] { root_certificate_provider { instance_name: "files" } identity_certificate_provider { instance_name: "files" } } }
			call_credentials_plugin { [type.googleapis.com/envoy.extensions.grpc_service.call_credentials.access_token.v3.AccessTokenCredentials] { token: "secret" }`, 1)+
			`route_config { name: "r" `+hosts("*", to("c"))+`}`)
		entry := strings.TrimSuffix(p.entry(), "}") + `, "server_features": ["trusted_xds_server"]}`
		env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s], "certificate_providers": {"files": %s}}`, entry, provider))
		if _, err := call(soon(t), newChannel(t, env, "xds:///svc"), "/p.S/M"); (err == nil) != ok || !ok && !strings.Contains(err.Error(), "certificate") {
			t.Errorf("target %s: %v; want OK %t", target, err, ok)
		}
	}
}
