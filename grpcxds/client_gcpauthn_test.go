package grpcxds_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/gcp_authn/v3" // for prototext
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/gcpauthn"
)

// confidential are credentials that claim to protect a connection.
type confidential struct {
	credentials.TransportCredentials
}

type confidentialInfo struct{ credentials.CommonAuthInfo }

func (confidentialInfo) AuthType() string { return "confidential" }

func (c confidential) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, _, err := c.TransportCredentials.ClientHandshake(ctx, authority, raw)
	return conn, confidentialInfo{credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}}, err
}

func (c confidential) Clone() credentials.TransportCredentials {
	return confidential{c.TransportCredentials.Clone()}
}

// programCredentials are call credentials of the program.
type programCredentials struct{}

func (programCredentials) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"program": "1"}, nil
}

func (programCredentials) RequireTransportSecurity() bool { return true }

// Calls carry the token of their cluster's audience, beside the credentials of the program. Tokens survive updates of the
// Listener. Without protection of the connection, calls fail.
func TestGCPAuthentication(t *testing.T) {
	p := newPlane(t)
	b := newBackend(t, "b", grpc.StreamInterceptor(func(_ any, s grpc.ServerStream, _ *grpc.StreamServerInfo, _ grpc.StreamHandler) error {
		md, _ := metadata.FromIncomingContext(s.Context())
		return s.SendMsg(wrapperspb.String(strings.Join(append(md["authorization"], md["program"]...), ",")))
	}))
	const audience = `metadata { typed_filter_metadata { key: "gcp" value { [type.googleapis.com/envoy.extensions.filters.http.gcp_authn.v3.Audience] { url: "https://shop" } } } }`
	for name, text := range map[string]string{
		"shop": audience, "plain": "", "other": strings.ReplaceAll(audience, `"gcp"`, `"another filter"`),
		"wrong": `metadata { filter_metadata { key: "gcp" value { fields { key: "url" value { string_value: "https://shop" } } } } }`,
	} {
		p.set(name, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } service_name: "e" } %s`, name, text)
	}
	p.set("invalid", new(clusterv3.Cluster), `name: "invalid" type: STRICT_DNS`)
	p.endpoints("e", b)
	var fetches atomic.Int64
	source := func(_ context.Context, audience string) (gcpauthn.Token, error) {
		return gcpauthn.Token{Value: fmt.Sprintf("%s#%d", audience, fetches.Add(1)), Expiry: time.Now().Add(time.Hour)}, nil
	}
	env := newEnv(t, fmt.Sprintf(`{"node": {"id": "n"}, "xds_servers": [%s]}`, p.entry()),
		xdsforge.WithTypes(func(r xdsforge.Registrar) { r.Extend(gcpauthn.Filter(source)) }))
	routes := ""
	for _, name := range []string{"shop", "plain", "other", "wrong", "invalid"} {
		routes += fmt.Sprintf(`routes { match { prefix: "/%s" } route { cluster: %q } }`, name, name)
	}
	listen := func(size int, last string) {
		p.listener("svc", fmt.Sprintf(`http_filters { name: "gcp" typed_config { [type.googleapis.com/envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig] {
			cache_config { cache_size { value: %d } } } } } route_config { name: "r" %s }`, size, hosts("*", routes+to(last))))
	}
	listen(5, "plain")
	dial := func(c credentials.TransportCredentials) *grpc.ClientConn {
		cc, err := grpcxds.Dialer{Env: env}.NewClient("xds:///svc", grpc.WithTransportCredentials(c))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cc.Close() })
		return cc
	}
	cc := dial(confidential{insecure.NewCredentials()})
	for _, test := range []struct {
		path, want string
		code       codes.Code
	}{
		{"/shop/M", "Bearer https://shop#1,1", codes.OK},
		{"/shop/N", "Bearer https://shop#1,1", codes.OK},
		{"/plain/M", "1", codes.OK},
		{"/other/M", "1", codes.OK},
		{"/wrong/M", "", codes.Unavailable},
		{"/invalid/M", "", codes.Unavailable},
	} {
		got, err := call(soon(t), cc, test.path, grpc.PerRPCCredentials(programCredentials{}))
		if got != test.want || status.Code(err) != test.code {
			t.Errorf("%s: the headers are %q, %v; want %q, %v", test.path, got, err, test.want, test.code)
		}
	}
	if _, err := call(soon(t), cc, "/wrong/M"); !strings.Contains(err.Error(), "must be an Audience") {
		t.Errorf("metadata of another type: %v; want the rule", err)
	}
	listen(7, "shop")
	ctx := soon(t)
	for {
		got, err := call(ctx, cc, "/last/M")
		if err != nil || got != "" && got != "Bearer https://shop#1" {
			t.Fatalf("after an update the header is %q, %v; want the same token", got, err)
		}
		if got != "" {
			break
		}
	}
	if fetches.Load() != 1 {
		t.Errorf("%d fetches; want 1, because the token survives updates", fetches.Load())
	}
	if _, err := call(soon(t), dial(insecure.NewCredentials()), "/shop/M"); status.Code(err) != codes.Unauthenticated {
		t.Errorf("an insecure connection: %v; want UNAUTHENTICATED", err)
	}
}
