package security_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"net/url"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
	grpccert "google.golang.org/grpc/credentials/tls/certprovider"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/testca"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A store has the certificates and roots of a test's providers, by instance, certificate and use.
type store struct {
	testing.TB
	material         map[string]*grpccert.Distributor
	started, stopped atomic.Int32
}

type stored struct {
	*grpccert.Distributor
	store *store
}

func (s stored) Close() { s.store.stopped.Add(1) }

func newStore(t testing.TB) *store {
	s := &store{TB: t, material: make(map[string]*grpccert.Distributor)}
	for _, name := range []string{"id", "id/other", "roots", "late"} {
		d := grpccert.NewDistributor()
		t.Cleanup(d.Stop)
		s.material[name] = d
	}
	return s
}

func (s *store) set(name string, m *grpccert.KeyMaterial) { s.material[name].Set(m, nil) }

// providers returns the instances id, roots, late and broken of plugin test, and the instance lost
// of an unknown plugin.
func (s *store) providers() *security.Providers {
	s.Helper()
	spec := bootstrap.Spec{
		Servers:              []bootstrap.ServerSpec{{URI: "xds.example", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}}},
		CertificateProviders: map[string]bootstrap.CertificateProvider{"lost": {PluginName: "lost"}},
	}
	for _, name := range []string{"id", "roots", "late", "broken"} {
		spec.CertificateProviders[name] = bootstrap.CertificateProvider{PluginName: "test", Config: json.RawMessage(`{"name": "` + name + `"}`)}
	}
	b, err := bootstrap.New(spec)
	if err != nil {
		s.Fatal(err)
	}
	p, err := security.NewProviders(b, []security.Plugin{{CertificateProvider: &resource.CertificateProvider{Plugin: "test"}, New: s.start}})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(p.Close)
	return p
}

func (s *store) start(config json.RawMessage, opts grpccert.BuildOptions) (grpccert.Provider, error) {
	var c struct{ Name string }
	if err := json.Unmarshal(config, &c); err != nil || opts.WantIdentity == opts.WantRoot {
		return nil, errors.New("cannot be understood")
	}
	if opts.CertName != "" {
		c.Name += "/" + opts.CertName
	}
	d, ok := s.material[c.Name]
	if !ok {
		return nil, errors.New("is broken")
	}
	s.started.Add(1)
	return stored{d, s}, nil
}

func instance(name string) tlscontext.Instance { return tlscontext.Instance{Provider: name} }

func authority(t testing.TB) *testca.CA {
	t.Helper()
	ca, err := testca.New("authority")
	if err != nil {
		t.Fatal(err)
	}
	return ca
}

// issue creates the certificate and roots of an identity.
func issue(t testing.TB, ca *testca.CA, template x509.Certificate) *grpccert.KeyMaterial {
	t.Helper()
	c, err := ca.Issue(template)
	if err != nil {
		t.Fatal(err)
	}
	return &grpccert.KeyMaterial{Certs: []tls.Certificate{c}}
}

func uri(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}
