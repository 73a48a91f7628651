package grpcxds

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	grpccert "google.golang.org/grpc/credentials/tls/certprovider"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/rbac"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const someBootstrap = `{"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}]}`

func parse(t testing.TB, text string) *bootstrap.Config {
	t.Helper()
	c, err := bootstrap.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Options that are nil change nothing.
func TestPoolOptionsOfNil(t *testing.T) {
	connections := client.NewPool()
	defer connections.Close()
	config := parse(t, someBootstrap)
	p, err := NewPool(WithBootstrap(config), WithConnections(connections), nil,
		WithBootstrap(nil), WithConnections(nil), WithLogger(nil), WithTypes(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.config != config || p.connections != connections || !p.shared {
		t.Error("nil takes the place of what was given")
	}
}

// TestServersOfAPoolShareAClient expects servers to have one client between them (A71).
func TestServersOfAPoolShareAClient(t *testing.T) {
	p, err := NewPool(WithBootstrap(parse(t, `{"server_listener_resource_name_template": "server/%s",
		"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	var servers []*Server
	for range 2 {
		s, err := NewServer(ServerPool(p))
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, s)
	}
	one, two := servers[0].scope.Client, servers[1].scope.Client
	if one != two {
		t.Error("each of two servers has a client of its own")
	}
	servers[0].Stop()
	if _, err := two.Observe(listener.Type(), "web"); err != nil {
		t.Errorf("the client was closed under the other server: %v", err)
	}
	servers[1].Stop()
	if _, err := two.Observe(listener.Type(), "web"); !errors.Is(err, resource.ErrClosed) {
		t.Errorf("after the last server has stopped: %v; want closed", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestPoolSharesAClientWhileItIsUsed(t *testing.T) {
	p, err := NewPool(WithBootstrap(parse(t, someBootstrap)))
	if err != nil {
		t.Fatal(err)
	}
	acquire := func(key string) *scope {
		t.Helper()
		s, err := p.acquire(key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a, b, other := acquire(serverScope), acquire(serverScope), acquire("xds:///web")
	if a.Client != b.Client || a.Client == other.Client {
		t.Error("one client for each key")
	}
	a.release()
	if _, err := b.Observe(listener.Type(), "web"); err != nil {
		t.Errorf("the client was closed under its other user: %v", err)
	}
	b.release()
	if _, err := b.Observe(listener.Type(), "web"); !errors.Is(err, resource.ErrClosed) {
		t.Errorf("after the last release: %v; want closed", err)
	}
	if again := acquire(serverScope); again.Client == b.Client {
		t.Error("a closed client was handed out")
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Observe(listener.Type(), "web"); !errors.Is(err, resource.ErrClosed) {
		t.Errorf("after Close: %v; want closed", err)
	}
	other.release() // late, and harmless
	if _, err := p.acquire(serverScope); !errors.Is(err, resource.ErrClosed) {
		t.Errorf("acquire after Close: %v; want closed", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestPoolWithoutBootstrap(t *testing.T) {
	t.Setenv(bootstrap.EnvFile, "")
	t.Setenv(bootstrap.EnvContent, "")
	if _, err := NewPool(); !errors.Is(err, bootstrap.ErrNotConfigured) {
		t.Errorf("%v; want %v", err, bootstrap.ErrNotConfigured)
	}
	t.Setenv(bootstrap.EnvContent, `{"xds_servers": 7}`)
	if _, err := NewPool(); err == nil || !strings.Contains(err.Error(), "xds_servers") {
		t.Errorf("%v; want what is wrong", err)
	}
	t.Setenv(bootstrap.EnvContent, someBootstrap)
	p, err := NewPool()
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Close()
}

func TestPoolKnowsFilters(t *testing.T) {
	tag := &resource.HTTPFilter{
		Config: "acme.Tag", Sides: resource.ServerSide,
		Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return struct{}{}, nil },
	}
	runs := func(f *resource.HTTPFilter) PoolOption {
		return WithFilters(httpfilter.Filter{HTTPFilter: f, Server: func(any, any) (httpfilter.ServerInterceptor, error) { return nil, nil }}) //nolint:nilnil // lets every call pass
	}
	config := WithBootstrap(parse(t, someBootstrap))
	p, err := NewPool(config, runs(tag))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if f, _ := p.types.HTTPFilter("acme.Tag"); f != tag {
		t.Error("the filter's configuration cannot be read")
	}
	// A set that has the filter already is as good.
	again, err := NewPool(config, WithTypes(p.types), runs(tag))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	other := *tag
	if _, err := NewPool(config, WithTypes(p.types), runs(&other)); err == nil ||
		!strings.Contains(err.Error(), "acme.Tag") {
		t.Errorf("two filters for one configuration: %v", err)
	}
	if _, err := NewPool(config, WithFilters(httpfilter.Filter{})); err == nil {
		t.Error("a filter without anything was accepted")
	}
}

// A user's filter takes the place of a built-in one.
func TestPoolReplacesFilters(t *testing.T) {
	own := rbac.Filter()
	p, err := NewPool(WithBootstrap(parse(t, someBootstrap)), WithFilters(own))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if f, _ := p.types.HTTPFilter(own.Config); f != own.HTTPFilter {
		t.Error("the built-in filter reads the configuration")
	}
}

// A filter that can be read and cannot run would be accepted, and then not be there.
func TestPoolReadsWhatRuns(t *testing.T) {
	p, err := NewPool(WithBootstrap(parse(t, someBootstrap)))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const prefix = "envoy.extensions.filters.http."
	for message, want := range map[string]bool{
		"router.v3.Router": true, "rbac.v3.RBAC": true, "fault.v3.HTTPFault": true,
		"gcp_authn.v3.GcpAuthnFilterConfig": false, "stateful_session.v3.StatefulSession": false,
	} {
		if _, got := p.types.HTTPFilter(prefix + message); got != want {
			t.Errorf("%s: %v; want %v", message, got, want)
		}
	}
}

func TestPoolKnowsCertificateProviders(t *testing.T) {
	own := certprovider.Plugin{
		CertificateProvider: &resource.CertificateProvider{Plugin: "acme"},
		New: func(json.RawMessage, grpccert.BuildOptions) (grpccert.Provider, error) {
			return nil, errors.New("none")
		},
	}
	config := WithBootstrap(parse(t, someBootstrap))
	p, err := NewPool(config, WithCertificateProviders(own))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if c, _ := p.types.CertificateProvider("acme"); c != own.CertificateProvider {
		t.Error("the plugin's configuration cannot be checked")
	}
	for _, bad := range []certprovider.Plugin{{}, certprovider.FileWatcher()} {
		if _, err := NewPool(config, WithCertificateProviders(bad)); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}

func TestPoolLeavesSharedConnectionsOpen(t *testing.T) {
	connections := client.NewPool()
	defer connections.Close()
	p, err := NewPool(WithBootstrap(parse(t, someBootstrap)), WithConnections(connections))
	if err != nil {
		t.Fatal(err)
	}
	if p.connections != connections || !p.shared {
		t.Error("the pool has connections of its own")
	}
	_ = p.Close()
}

// quick is a backoff for tests.
var quick = client.Backoff{Base: 20 * time.Millisecond, Max: 100 * time.Millisecond}
