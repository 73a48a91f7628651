package rbac_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"testing"

	rbacpolicyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parse parses a message, as a filter or as its override.
func parse(t testing.TB, read func(*resource.DecodeContext, resource.TypedConfig) (any, error), m proto.Message) any {
	t.Helper()
	packed, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	c, err := resource.OpenTypedConfig(packed)
	if err != nil {
		t.Fatal(err)
	}
	config, err := read(nil, c)
	if err != nil {
		t.Fatalf("%v: %v", m, err)
	}
	return config
}

// interceptor returns the interceptor of rules.
func interceptor(t testing.TB, f *httpfilter.Filter, rules *rbacpolicyv3.RBAC) httpfilter.ServerBefore {
	t.Helper()
	i, err := create(t, f, parse(t, f.Parse, &rbacv3.RBAC{Rules: rules}), nil)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// create creates the interceptor of a configuration. The interceptor sees no messages.
func create(t testing.TB, f *httpfilter.Filter, config, override any) (httpfilter.ServerBefore, error) {
	t.Helper()
	instance, err := f.NewServer(httpfilter.Host{})
	if err != nil {
		t.Fatal(err)
	}
	i, err := instance.Interceptor(config, override)
	before, _ := i.(httpfilter.ServerBefore)
	return before, err
}

// rules parses rules from their text.
func rules(t testing.TB, text string) *rbacpolicyv3.RBAC {
	t.Helper()
	m := new(rbacpolicyv3.RBAC)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// allowed reports whether a call passes. A nil interceptor allows all calls.
func allowed(t testing.TB, i httpfilter.ServerBefore, call *httpfilter.ServerCall) bool {
	t.Helper()
	if i == nil {
		return true
	}
	_, err := i(t.Context(), call)
	if err != nil && status.Code(err) != codes.PermissionDenied {
		t.Fatalf("%v; want PERMISSION_DENIED", err)
	}
	return err == nil
}

// aCall returns a call over TLS with a client certificate, or without TLS if the certificate is
// nil.
func aCall(leaf *x509.Certificate) *httpfilter.ServerCall {
	state := tls.ConnectionState{}
	if leaf != nil {
		state.PeerCertificates = []*x509.Certificate{leaf}
	}
	return &httpfilter.ServerCall{
		Method: "/shop.Cart/Add",
		Metadata: metadata.MD{
			":authority": {"shop.example"}, "content-type": {"application/grpc"}, "tier": {"gold"},
			"many": {"a", "b"}, "trace-bin": {"\x00\xff"}, "te": {"trailers"}, "size": {"12"},
		},
		Local:    &net.TCPAddr{IP: net.ParseIP("10.0.0.7"), Port: 443},
		Remote:   &net.TCPAddr{IP: net.ParseIP("::ffff:192.168.1.5"), Port: 5555},
		AuthInfo: credentials.TLSInfo{State: state},
	}
}
