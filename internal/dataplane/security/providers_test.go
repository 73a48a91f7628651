package security_test

import (
	"crypto/x509"
	"strings"
	"testing"

	grpccert "google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
)

// A provider runs once for all users of the same material, until the last of them releases it.
func TestProvidersAreShared(t *testing.T) {
	s := newStore(t)
	p := s.providers()
	runs := func(started, stopped int32) {
		t.Helper()
		if s.started.Load() != started || s.stopped.Load() != stopped {
			t.Errorf("%d started, %d stopped; want %d and %d", s.started.Load(), s.stopped.Load(), started, stopped)
		}
	}
	chain := &tlscontext.Server{Identity: instance("id"), Roots: instance("roots")}
	one, two := p.Server(chain), p.Server(chain)
	runs(2, 0)
	cluster := p.Cluster()
	cluster.Update(&tlscontext.Client{Roots: instance("roots"), Identity: tlscontext.Instance{Provider: "id", Certificate: "other"}})
	runs(3, 0)
	one.Close()
	runs(3, 0)
	two.Close()
	runs(3, 1)
	cluster.Update(&tlscontext.Client{Roots: instance("roots"), Identity: instance("id")})
	runs(4, 2)
	cluster.Update(nil)
	runs(4, 4)
	cluster.Update(&tlscontext.Client{Roots: instance("roots")})
	cluster.Close()
	cluster.Close()
	cluster.Update(&tlscontext.Client{Roots: instance("roots")})
	runs(5, 5)
	rest := p.Server(chain)
	p.Close()
	runs(7, 7)
	rest.Close()
	p.Close()
	runs(7, 7)
	if _, err := security.NewConn(nil, p.Server(chain)).ServerTLS(); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v; want that the pool is closed", err)
	}
}

// Roots and identity of one instance are separate. One may be available without the other.
func TestIdentityDoesNotWaitForRoots(t *testing.T) {
	s := newStore(t)
	s.set("id", issue(t, authority(t), x509.Certificate{}))
	server := s.providers().Server(&tlscontext.Server{Identity: instance("id")})
	defer server.Close()
	if _, err := security.NewConn(nil, server).ServerTLS(); err != nil {
		t.Error(err)
	}
}

// An error of a provider fails handshakes. They do not continue without the provider.
func TestProvidersThatCannot(t *testing.T) {
	s := newStore(t)
	p := s.providers()
	s.set("id", &grpccert.KeyMaterial{})
	s.set("roots", &grpccert.KeyMaterial{})
	good := issue(t, authority(t), x509.Certificate{})
	s.set("id/other", good)
	other := tlscontext.Instance{Provider: "id", Certificate: "other"}
	for want, c := range map[string]*tlscontext.Server{
		`instance "unknown": is not in the bootstrap`:                   {Identity: instance("unknown")},
		`instance "lost": is of the plugin "lost", which was not given`: {Identity: instance("lost")},
		`instance "broken": is broken`:                                  {Identity: instance("broken")},
		`instance "id", identity: has no certificate`:                   {Identity: instance("id")},
		`instance "roots", roots: has no roots`:                         {Identity: other, Roots: instance("roots")},
	} {
		server := p.Server(c)
		if _, err := security.NewConn(nil, server).ServerTLS(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
		server.Close()
	}
	for want, c := range map[string]*tlscontext.Client{
		`has no roots to verify servers by`: {},
		`instance "broken": is broken`:      {Roots: instance("broken")},
		`instance "id", identity: has no`:   {SystemRoots: true, Identity: instance("id")},
	} {
		cluster := p.Cluster()
		cluster.Update(c)
		if _, err := security.ClientTLS(t.Context(), security.WithCluster(resolver.Address{}, cluster, "").Attributes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
		cluster.Close()
	}
}

// Resources without TLS settings get no configuration.
func TestNoTLS(t *testing.T) {
	p := newStore(t).providers()
	server := p.Server(nil)
	server.Close()
	if c, err := security.NewConn(nil, server).ServerTLS(); c != nil || err != nil {
		t.Errorf("%v, %v", c, err)
	}
	if c, err := security.ClientTLS(t.Context(), nil); c != nil || err != nil {
		t.Errorf("%v, %v", c, err)
	}
	a := security.WithCluster(resolver.Address{}, p.Cluster(), "")
	if c, err := security.ClientTLS(t.Context(), a.Attributes); c != nil || err != nil {
		t.Errorf("%v, %v", c, err)
	}
}

// A change of a cluster's TLS does not change its addresses. A change of an endpoint's hostname
// does.
func TestAddresses(t *testing.T) {
	p := newStore(t).providers()
	cluster := p.Cluster()
	defer cluster.Close()
	at := func(c *security.Cluster, hostname string) resolver.Address {
		return security.WithCluster(resolver.Address{Addr: "10.0.0.1:80"}, c, hostname)
	}
	before := at(cluster, "a")
	cluster.Update(&tlscontext.Client{SystemRoots: true})
	if !before.Equal(at(cluster, "a")) {
		t.Error("an address is another after an update")
	}
	if before.Equal(at(cluster, "b")) || before.Equal(at(p.Cluster(), "a")) {
		t.Error("addresses of different hostnames or clusters are the same")
	}
}

func TestNewProviders(t *testing.T) {
	b, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "x", "channel_creds": [{"type": "insecure"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	plugin := security.Plugin{CertificateProvider: &resource.CertificateProvider{Plugin: "x"}, New: newStore(t).start}
	if _, err := security.NewProviders(b, []security.Plugin{plugin, plugin}); err == nil {
		t.Error("two plugins have one name")
	}
	if _, err := security.NewProviders(b, []security.Plugin{{CertificateProvider: &resource.CertificateProvider{Plugin: "x"}}}); err == nil {
		t.Error("a plugin has no New")
	}
}
