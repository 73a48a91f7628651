package security_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"github.com/spiffe/go-spiffe/v2/bundle/spiffebundle"
	"github.com/spiffe/go-spiffe/v2/spiffeid"
	grpccert "google.golang.org/grpc/credentials/tls/certprovider"
	"google.golang.org/grpc/resolver"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/tlscontext"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/testca"
)

// A result is the end of a handshake on either side.
type result struct {
	client, server error
	sni            string // the name that the client sent
	peers          int    // the number of certificates that the client presented
}

// connect returns both ends of a connection over loopback.
func connect(t testing.TB) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}

// shake runs a handshake over loopback. It is over for both sides when the client has read a byte
// or an error.
func shake(t testing.TB, server, client *tls.Config) result {
	t.Helper()
	ours, theirs := connect(t)
	done := make(chan result, 1)
	go func() {
		c := tls.Server(theirs, server)
		defer c.Close()
		r := result{server: c.Handshake()}
		if r.server == nil {
			_, _ = c.Write([]byte{1})
		}
		r.sni, r.peers = c.ConnectionState().ServerName, len(c.ConnectionState().PeerCertificates)
		done <- r
	}()
	c := tls.Client(ours, client)
	defer c.Close()
	_, err := c.Read(make([]byte, 1)) // a server rejects a client certificate after the client's handshake
	_ = c.Close()
	r := <-done
	r.client = err
	return r
}

// configs returns the TLS configurations of both sides of a handshake.
func configs(t testing.TB, p *security.Providers, s *tlscontext.Server, c *tlscontext.Client, hostname string) (server, client *tls.Config) {
	t.Helper()
	side := p.Server(s)
	defer side.Close()
	conn := security.NewConn(nil, side)
	server, err := conn.ServerTLS()
	if err != nil {
		t.Fatal(err)
	}
	cluster := p.Cluster()
	defer cluster.Close()
	cluster.Update(c)
	client, err = security.ClientTLS(t.Context(), security.WithCluster(resolver.Address{}, cluster, hostname).Attributes)
	if err != nil {
		t.Fatal(err)
	}
	return server, client
}

func sans(t testing.TB, list ...*matcherv3.StringMatcher) []matcher.String {
	t.Helper()
	var out []matcher.String
	for _, m := range list {
		s, err := matcher.PartsOfString(m).Matcher(nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func exact(s string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: s}}
}

func suffix(s string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Suffix{Suffix: s}}
}

// TestNames tests which names of a server's certificate the cluster accepts (A29, A101), and which
// name the client sends.
func TestNames(t *testing.T) {
	ca := authority(t)
	leaf := x509.Certificate{
		DNSNames: []string{"one.example", "*.two.example"}, EmailAddresses: []string{"me@example"},
		IPAddresses: []net.IP{net.ParseIP("2001:db8:0::1"), net.ParseIP("10.0.0.1")}, URIs: []*url.URL{uri("spiffe://a/x")},
	}
	nameless := x509.Certificate{}
	for _, test := range []struct {
		name     string
		leaf     x509.Certificate
		client   tlscontext.Client
		hostname string
		ok       bool
		sni      string
	}{
		{"no list", nameless, tlscontext.Client{}, "one.example:443", true, ""},
		{"a list, and no names", nameless, tlscontext.Client{SANs: sans(t, exact(""))}, "", false, ""},
		{"DNS", leaf, tlscontext.Client{SANs: sans(t, exact("x"), exact("one.example"))}, "", true, ""},
		{"DNS in upper case", leaf, tlscontext.Client{SANs: sans(t, exact("ONE.example"))}, "", true, ""},
		{"a wildcard", leaf, tlscontext.Client{SANs: sans(t, exact("a.two.example"))}, "", true, ""},
		{"a wildcard is for one label", leaf, tlscontext.Client{SANs: sans(t, exact("a.b.two.example"))}, "", false, ""},
		{"a wildcard as text", leaf, tlscontext.Client{SANs: sans(t, suffix(".two.example"))}, "", true, ""},
		{"mail", leaf, tlscontext.Client{SANs: sans(t, exact("me@example"))}, "", true, ""},
		{"URI", leaf, tlscontext.Client{SANs: sans(t, exact("spiffe://a/x"))}, "", true, ""},
		{"IPv6", leaf, tlscontext.Client{SANs: sans(t, exact("2001:db8::1"))}, "", true, ""},
		{"IPv4", leaf, tlscontext.Client{SANs: sans(t, exact("10.0.0.1"))}, "", true, ""},
		{"none of them", leaf, tlscontext.Client{SANs: sans(t, exact("10.0.0.2"), suffix("three.example"))}, "", false, ""},

		{"SNI", leaf, tlscontext.Client{SNI: "one.example"}, "host.example:443", true, "one.example"},
		{"SNI of the host", leaf, tlscontext.Client{SNI: "one.example", AutoHostSNI: true}, "host.example:443", true, "host.example"},
		{"SNI of a host without port", leaf, tlscontext.Client{AutoHostSNI: true}, "host.example", true, "host.example"},
		{"SNI of no host", leaf, tlscontext.Client{SNI: "one.example", AutoHostSNI: true}, "", true, "one.example"},
		{"SNI of an address", leaf, tlscontext.Client{AutoHostSNI: true}, "10.0.0.1:443", true, ""},
		{"validation by SNI", leaf, tlscontext.Client{SNI: "x.two.example", AutoSNISANValidation: true, SANs: sans(t, exact("x"))}, "", true, "x.two.example"},
		{"validation by another SNI", leaf, tlscontext.Client{SNI: "three.example", AutoSNISANValidation: true, SANs: sans(t, exact("one.example"))}, "", false, "three.example"},
		{"validation by SNI is of DNS names", leaf, tlscontext.Client{SNI: "me@example", AutoSNISANValidation: true}, "", false, "me@example"},
		{"validation without SNI", leaf, tlscontext.Client{AutoHostSNI: true, AutoSNISANValidation: true, SANs: sans(t, exact("one.example"))}, "", true, ""},
		{"validation without SNI and names", leaf, tlscontext.Client{AutoHostSNI: true, AutoSNISANValidation: true, SANs: sans(t, exact("x"))}, "", false, ""},
	} {
		s := newStore(t)
		s.set("id", issue(t, ca, test.leaf))
		s.set("roots", &grpccert.KeyMaterial{Roots: ca.Pool()})
		test.client.Roots = instance("roots")
		server, client := configs(t, s.providers(), &tlscontext.Server{Identity: instance("id")}, &test.client, test.hostname)
		r := shake(t, server, client)
		if (r.client == nil) != test.ok || r.sni != test.sni {
			t.Errorf("%s: %v, %v, SNI %q; want %v and %q", test.name, r.client, r.server, r.sni, test.ok, test.sni)
		}
		if !test.ok && !strings.Contains(r.client.Error(), "certificate check failure") {
			t.Errorf("%s: %v", test.name, r.client)
		}
	}
}

func bundles(t testing.TB, domains map[string]*testca.CA) *grpccert.KeyMaterial {
	t.Helper()
	m := &grpccert.KeyMaterial{SPIFFEBundleMap: make(map[string]*spiffebundle.Bundle)}
	for name, ca := range domains {
		b := spiffebundle.New(spiffeid.RequireTrustDomainFromString(name))
		b.AddX509Authority(ca.Certificate)
		m.SPIFFEBundleMap[name] = b
	}
	return m
}

// Chains must lead to the roots. With SPIFFE, these are the roots of the certificate's trust domain
// (A87). A server without roots requests no certificates (A29).
func TestChains(t *testing.T) {
	a, b := authority(t), authority(t)
	pool := &grpccert.KeyMaterial{Roots: a.Pool()}
	both := bundles(t, map[string]*testca.CA{"a": a, "b": b})
	none := bundles(t, nil)
	id := func(ca *testca.CA, uris ...string) *grpccert.KeyMaterial {
		c := x509.Certificate{}
		for _, u := range uris {
			c.URIs = append(c.URIs, uri(u))
		}
		return issue(t, ca, c)
	}
	onlyServer := issue(t, a, x509.Certificate{URIs: []*url.URL{uri("spiffe://a/x")}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	onlyClient := issue(t, a, x509.Certificate{URIs: []*url.URL{uri("spiffe://a/x")}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	anAuthority := issue(t, a, x509.Certificate{URIs: []*url.URL{uri("spiffe://a/x")}, IsCA: true, BasicConstraintsValid: true})
	for _, test := range []struct {
		name  string
		id    *grpccert.KeyMaterial // nil: nothing is shown
		roots *grpccert.KeyMaterial
		// The table says whether the server accepts the client, with an optional and a mandatory
		// client certificate, and whether the client accepts the server.
		optional, required, server bool
	}{
		{"of the authority", id(a), pool, true, true, true},
		{"of another authority", id(b), pool, false, false, false},
		{"nothing", nil, pool, true, false, false},
		{"nothing, of SPIFFE", nil, both, true, false, false},
		{"for servers", onlyServer, pool, false, false, true},
		{"for clients", onlyClient, pool, true, true, false},
		{"for servers, of SPIFFE", onlyServer, both, false, false, true},
		{"for clients, of SPIFFE", onlyClient, both, true, true, false},
		{"of the trust domain", id(b, "spiffe://b/x"), both, true, true, true},
		{"of another trust domain", id(b, "spiffe://a/x"), both, false, false, false},
		{"of no trust domain that is known", id(a, "spiffe://c/x"), both, false, false, false},
		{"of a trust domain, and no bundle", id(a, "spiffe://a/x"), none, false, false, false},
		{"none of SPIFFE", id(a), both, false, false, false},
		{"two names of SPIFFE", id(a, "spiffe://a/x", "spiffe://a/y"), both, false, false, false},
		{"a URI of something else", id(a, "https://a/x"), both, false, false, false},
		{"an authority of SPIFFE", anAuthority, both, false, false, false},
	} {
		s := newStore(t)
		s.set("roots", test.roots)
		identity := instance("id")
		if test.id == nil {
			identity = tlscontext.Instance{}
		} else {
			s.set("id", test.id)
		}
		s.set("id/other", id(a, "spiffe://a/other"))
		s.set("late", bundles(t, map[string]*testca.CA{"a": a}))
		p := s.providers()
		other := tlscontext.Instance{Provider: "id", Certificate: "other"}
		for require, want := range map[bool]bool{false: test.optional, true: test.required} {
			server, client := configs(t, p,
				&tlscontext.Server{Identity: other, Roots: instance("roots"), RequireClientCertificate: require},
				&tlscontext.Client{Identity: identity, Roots: instance("late")}, "")
			if r := shake(t, server, client); (r.server == nil && r.client == nil) != want {
				t.Errorf("a client that shows a certificate %s (required: %v): %v, %v; want %v", test.name, require, r.server, r.client, want)
			}
		}
		if test.id == nil {
			continue
		}
		server, client := configs(t, p, &tlscontext.Server{Identity: identity}, &tlscontext.Client{Identity: other, Roots: instance("roots")}, "")
		if r := shake(t, server, client); (r.server == nil && r.client == nil) != test.server || r.peers != 0 {
			t.Errorf("a server that shows a certificate %s: %v, %v, %d certificates; want %v, and no question", test.name, r.server, r.client, r.peers, test.server)
		}
	}
}

// The system's roots do not include the authority of the test (A82).
func TestSystemRoots(t *testing.T) {
	s := newStore(t)
	s.set("id", issue(t, authority(t), x509.Certificate{}))
	server, client := configs(t, s.providers(), &tlscontext.Server{Identity: instance("id")}, &tlscontext.Client{SystemRoots: true}, "")
	if r := shake(t, server, client); r.client == nil || !strings.Contains(r.client.Error(), "unknown authority") {
		t.Errorf("%v, %v", r.client, r.server)
	}
}

// A handshake uses the certificates at its start.
func TestRotation(t *testing.T) {
	s := newStore(t)
	old, young := authority(t), authority(t)
	p := s.providers()
	both := func() result {
		server, client := configs(t, p, &tlscontext.Server{Identity: instance("id")}, &tlscontext.Client{Roots: instance("roots")}, "")
		return shake(t, server, client)
	}
	s.set("id", issue(t, old, x509.Certificate{}))
	s.set("roots", &grpccert.KeyMaterial{Roots: old.Pool()})
	if r := both(); r.client != nil {
		t.Error(r.client)
	}
	s.set("id", issue(t, young, x509.Certificate{}))
	if r := both(); r.client == nil {
		t.Error("an authority is trusted that is none yet")
	}
	s.set("roots", &grpccert.KeyMaterial{Roots: young.Pool()})
	if r := both(); r.client != nil {
		t.Error(r.client)
	}
}

// A handshake waits for certificates until the deadline or the end of its connection.
func TestWaitingForCertificates(t *testing.T) {
	s := newStore(t)
	server := s.providers().Server(&tlscontext.Server{Identity: instance("late")})
	defer server.Close()
	here, there := net.Pipe()
	defer there.Close()

	c := security.NewConn(here, server)
	if err := c.SetDeadline(time.Now().Add(time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ServerTLS(); err == nil || !strings.Contains(err.Error(), "deadline") {
		t.Errorf("%v; want that of the deadline", err)
	}

	c = security.NewConn(here, server)
	ended := make(chan error)
	go func() {
		_, err := c.ServerTLS()
		ended <- err
	}()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), `"late", identity: cannot provide`) {
		t.Errorf("%v; want that of the end", err)
	}

	c = security.NewConn(here, server)
	go func() {
		_, err := c.ServerTLS()
		ended <- err
	}()
	s.set("late", issue(t, authority(t), x509.Certificate{}))
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = c.Close()

	cluster := s.providers().Cluster()
	cluster.Update(&tlscontext.Client{Roots: instance("roots")})
	defer cluster.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := security.ClientTLS(ctx, security.WithCluster(resolver.Address{}, cluster, "").Attributes); err == nil {
		t.Error("a client does without roots")
	}
}
