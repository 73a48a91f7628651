package grpcxds

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	grpccert "google.golang.org/grpc/credentials/tls/certprovider"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/rbac"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/internal/environment"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// quick is a back-off for tests.
var quick = environment.WithClient(func(o *client.Options) {
	o.Backoff.Base, o.Backoff.Max = 20*time.Millisecond, 100*time.Millisecond
})

const someBootstrap = `{"server_listener_resource_name_template": "server/%s",
	"xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}]}`

func parse(t testing.TB, text string) *bootstrap.Config {
	t.Helper()
	c, err := bootstrap.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// envOf returns an Env of types and extensions.
func envOf(t *testing.T, register ...func(xdsforge.Registrar)) *xdsforge.Env {
	t.Helper()
	e, err := xdsforge.NewEnv(xdsforge.WithBootstrap(parse(t, someBootstrap)), xdsforge.WithTypes(register...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// sharedOf returns the shared state of an Env with these types and extensions.
func sharedOf(t *testing.T, register ...func(xdsforge.Registrar)) (*shared, error) {
	t.Helper()
	e, err := (&source{env: envOf(t, register...)}).open()
	if err != nil {
		return nil, err
	}
	t.Cleanup(e.Release)
	return e.shared, nil
}

// TestServersOfAnEnvShareAClient expects the servers of an Env to share one client (A71).
func TestServersOfAnEnvShareAClient(t *testing.T) {
	e := envOf(t, Register)
	var servers []*Server
	for range 2 {
		s, err := ServerConfig{Env: e}.NewServer()
		if err != nil {
			t.Fatal(err)
		}
		servers = append(servers, s)
	}
	one, two := servers[0].scope.Client, servers[1].scope.Client
	if one != two {
		t.Error("each of two servers has a client of its own")
	}
	_ = e.Close()
	servers[0].Stop()
	if _, err := listener.Subscribe(two, "web", func(listener.Event) {}); err != nil {
		t.Errorf("the client was closed under the other server: %v", err)
	}
	servers[1].Stop()
	if _, err := listener.Subscribe(two, "web", func(listener.Event) {}); !errors.Is(err, resource.ErrClosed) {
		t.Errorf("after the last server has stopped: %v; want closed", err)
	}
	if open := xdsforge.Envs(); len(open) > 0 {
		t.Errorf("%d Envs are in use after the last server has stopped", len(open))
	}
}

// TestUnsuitableEnvs expects errors that tell how to create the Env.
func TestUnsuitableEnvs(t *testing.T) {
	closed := envOf(t, Register)
	_ = closed.Close()
	none := &httpfilter.Filter{}
	halfless := &httpfilter.Filter{HTTPFilter: &resource.HTTPFilter{
		Config: "acme.Tag", Sides: resource.ServerSide,
		Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return struct{}{}, nil },
	}}
	for name, c := range map[string]struct {
		env  *xdsforge.Env
		want string
	}{
		"closed":              {closed, "closed"},
		"zero":                {new(xdsforge.Env), "create it with xdsforge.NewEnv"},
		"without a type":      {envOf(t, listener.Register), "xdsforge.WithTypes(grpcxds.Register)"},
		"without any filter":  {envOf(t, standard.Register), "xdsforge.WithTypes(grpcxds.Register)"},
		"a filter that lacks": {envOf(t, Register, func(r xdsforge.Registrar) { r.Extend(halfless) }), "Filter.NewServer of acme.Tag is nil"},
		"a plugin that lacks": {envOf(t, Register, func(r xdsforge.Registrar) {
			r.Extend(&certprovider.Plugin{CertificateProvider: &resource.CertificateProvider{Plugin: "acme"}})
		}), "CertificateProvider and New"},
	} {
		insecurely := grpc.WithTransportCredentials(insecure.NewCredentials())
		if _, err := (Dialer{Env: c.env}).NewClient("xds:///x", insecurely); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "grpcxds: ") {
			t.Errorf("%s: NewClient: %v; want %q", name, err, c.want)
		}
		if _, err := (ServerConfig{Env: c.env}).NewServer(); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "grpcxds: ") {
			t.Errorf("%s: NewServer: %v; want %q", name, err, c.want)
		}
	}
	_, err := xdsforge.NewEnv(xdsforge.WithBootstrap(parse(t, someBootstrap)), xdsforge.WithTypes(Register, func(r xdsforge.Registrar) { r.Extend(none) }))
	if err == nil {
		t.Error("a filter without anything was accepted")
	}
}

// TestFiltersOfAnEnv expects filters of the program to run, and to replace built-in ones.
func TestFiltersOfAnEnv(t *testing.T) {
	tag := &resource.HTTPFilter{
		Config: "acme.Tag", Sides: resource.ServerSide,
		Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return struct{}{}, nil },
	}
	runs := httpfilter.Filter{HTTPFilter: tag, NewServer: httpfilter.ServerFunc(func(any, any) (httpfilter.ServerInterceptor, error) { return nil, nil })} //nolint:nilnil // lets every call pass
	own := rbac.Filter()
	s, err := sharedOf(t, func(r xdsforge.Registrar) {
		r.Extend(runs)
		r.Extend(own)
		r.Extend(own)
	}, Register)
	if err != nil {
		t.Fatal(err)
	}
	if f, _ := s.types.HTTPFilter("acme.Tag"); f != tag {
		t.Error("the filter's configuration cannot be read")
	}
	if f, _ := s.types.HTTPFilter(own.Config); f != own.HTTPFilter {
		t.Error("the built-in filter reads the configuration")
	}
	list := []listener.HTTPFilter{{Name: "tag", Message: "acme.Tag", Config: struct{}{}}}
	var holder filterchain.ServerHolder
	set := holder.Begin()
	defer set.Release()
	l, err := s.chains.Server(set, nil, httpfilter.Host{}, list)
	if err == nil {
		_, err = l.Chain()
	}
	if err != nil {
		t.Errorf("the filter cannot run: %v", err)
	}
}

// TestOnlyRunningFiltersAreRead expects channels and servers not to know filters that cannot run.
// Otherwise they would accept a resource without running its filter (A39).
func TestOnlyRunningFiltersAreRead(t *testing.T) {
	e := envOf(t, standard.Register, Register, func(r resource.Registrar) {
		r.Extend(&resource.HTTPFilter{
			Config: "acme.OnlyRead", Sides: resource.ClientSide,
			Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return struct{}{}, nil },
		})
	})
	opened, err := (&source{env: e}).open()
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Release()
	const prefix = "envoy.extensions.filters.http."
	for message, want := range map[string]bool{
		prefix + "router.v3.Router": true, prefix + "rbac.v3.RBAC": true, prefix + "fault.v3.HTTPFault": true,
		prefix + "gcp_authn.v3.GcpAuthnFilterConfig": true, prefix + "stateful_session.v3.StatefulSession": true, "acme.OnlyRead": false,
	} {
		if _, got := opened.types.HTTPFilter(message); got != want {
			t.Errorf("%s: %v; want %v", message, got, want)
		}
		if _, got := e.Types().HTTPFilter(message); !got {
			t.Errorf("%s: clients of the Env do not know it", message)
		}
	}
	if _, ok := opened.types.CertificateProvider("file_watcher"); !ok {
		t.Error("the plugin file_watcher is missing")
	}
}

// TestCertificateProvidersOfAnEnv expects plugins of the program to be known, and to replace
// built-in ones.
func TestCertificateProvidersOfAnEnv(t *testing.T) {
	own := certprovider.Plugin{
		CertificateProvider: &resource.CertificateProvider{Plugin: "acme"},
		New: func(json.RawMessage, grpccert.BuildOptions) (grpccert.Provider, error) {
			return nil, errors.New("none")
		},
	}
	watcher := certprovider.FileWatcher()
	s, err := sharedOf(t, Register, func(r xdsforge.Registrar) {
		r.Extend(own)
		r.Extend(watcher)
	})
	if err != nil {
		t.Fatal(err)
	}
	if c, _ := s.types.CertificateProvider("acme"); c != own.CertificateProvider {
		t.Error("the plugin's configuration cannot be checked")
	}
	if c, _ := s.types.CertificateProvider(watcher.Plugin); c != watcher.CertificateProvider {
		t.Error("the built-in plugin checks the configuration")
	}
}
