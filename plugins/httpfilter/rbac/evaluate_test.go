package rbac

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"net/netip"
	"net/url"
	"testing"
)

// Evaluate returns the name of the policy that decided.
func TestEvaluate(t *testing.T) {
	const policies = `policies { key: "get" value { permissions { url_path { path { exact: "/a.B/Get" } } } principals { any: true } } }`
	for _, tt := range []struct {
		rules, method, policy string
		allowed               bool
	}{
		{policies, "/a.B/Get", "get", true},
		{policies, "/a.B/Set", "", false},
		{"action: DENY " + policies, "/a.B/Get", "get", false},
		{"action: DENY " + policies, "/a.B/Set", "", true},
		{"action: LOG " + policies, "/a.B/Set", "", true},
	} {
		c, err := parse(t, tt.rules)
		if err != nil {
			t.Fatal(err)
		}
		if policy, allowed := c.Evaluate(&Call{Method: tt.method}); policy != tt.policy || allowed != tt.allowed {
			t.Errorf("%s for %s: policy %q, allowed %v; want %q, %v", tt.rules, tt.method, policy, allowed, tt.policy, tt.allowed)
		}
	}
}

// A configuration without rules allows all calls. Rules deny a nil call.
func TestEvaluateNothing(t *testing.T) {
	rules, err := parse(t, `action: DENY`)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Config{"nil": nil, "zero": {}} {
		if _, allowed := c.Evaluate(nil); !allowed {
			t.Errorf("a %s configuration denies calls", name)
		}
	}
	if _, allowed := rules.Evaluate(nil); allowed {
		t.Error("rules allow a call that is nil")
	}
	leaf := &x509.Certificate{URIs: []*url.URL{{Scheme: "spiffe", Host: "a"}}}
	if got := new(Config).Principal(&Call{Certificate: leaf}); got != "spiffe://a" {
		t.Errorf("Principal = %q, want the URI", got)
	}
	if got := new(Config).Principal(&Call{}); got != "" {
		t.Errorf("Principal = %q without a certificate", got)
	}
}

// Each fact of a connection decides: the port, TLS, and the names in the certificate (A41).
func TestEvaluateConnections(t *testing.T) {
	rules := func(permission, principal string) string {
		return `policies { key: "p" value { permissions { ` + permission + ` } principals { ` + principal + ` } } }`
	}
	uris := &x509.Certificate{URIs: []*url.URL{{Scheme: "spiffe", Host: "a"}, {Scheme: "spiffe", Host: "b"}}, DNSNames: []string{"dns"}, Subject: pkix.Name{CommonName: "subject"}}
	dns := &x509.Certificate{DNSNames: []string{"dns"}, Subject: pkix.Name{CommonName: "subject"}}
	subject := &x509.Certificate{Subject: pkix.Name{CommonName: "subject"}}
	named := func(name string) string { return `authenticated { principal_name { exact: "` + name + `" } }` }
	local := netip.MustParseAddrPort("10.0.0.1:80")
	const peer = `remote_ip { address_prefix: "10.0.0.1" prefix_len { value: 32 } }`
	for _, tt := range []struct {
		rules string
		call  Call
		want  bool
	}{
		{rules("destination_port: 80", "any: true"), Call{Local: local}, true},
		{rules("destination_port: 81", "any: true"), Call{Local: local}, false},
		{rules("destination_port: 0", "any: true"), Call{}, false},                // the address is unknown
		{rules(`requested_server_name { exact: "" }`, "any: true"), Call{}, true}, // gRPC has none
		{rules(`requested_server_name { exact: "a" }`, "any: true"), Call{}, false},
		{rules(`requested_server_name { exact: "a" }`, "any: true"), Call{HTTP: &Request{ServerName: "a"}}, true},
		{rules(`requested_server_name { exact: "" }`, "any: true"), Call{HTTP: &Request{ServerName: "a"}}, false},
		{rules("any: true", peer), Call{Remote: local}, true},
		{rules("any: true", peer), Call{Remote: local, Client: netip.MustParseAddr("10.0.0.2")}, false},
		{rules("any: true", peer), Call{Client: local.Addr()}, true},
		{rules("any: true", "direct_"+peer), Call{Remote: local, Client: netip.MustParseAddr("10.0.0.2")}, true},
		{rules("any: true", "authenticated {}"), Call{TLS: true}, true},
		{rules("any: true", "authenticated {}"), Call{}, false},
		{rules("any: true", named("")), Call{TLS: true}, true}, // no certificate: the empty name
		{rules("any: true", named("x")), Call{TLS: true}, false},
		{rules("any: true", named("spiffe://b")), Call{TLS: true, Certificate: uris}, true},
		{rules("any: true", named("dns")), Call{TLS: true, Certificate: uris}, false},
		{rules("any: true", named("dns")), Call{TLS: true, Certificate: dns}, true},
		{rules("any: true", named("CN=subject")), Call{TLS: true, Certificate: subject}, true},
		{rules("any: true", named("CN=subject")), Call{TLS: true, Certificate: dns}, false},
		{rules("any: true", named("spiffe://b")), Call{Certificate: uris}, false}, // not over TLS
	} {
		c, err := parse(t, tt.rules)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time, the names are cached
			if _, allowed := c.Evaluate(&tt.call); allowed != tt.want {
				t.Errorf("%s for %+v: allowed %v, want %v", tt.rules, tt.call, allowed, tt.want)
			}
		}
	}
}

// The cache keeps the names of a certificate, and never returns those of another one.
func TestNameCache(t *testing.T) {
	c := newNameCache()
	leaves := make([]*x509.Certificate, 1000)
	for i := range leaves {
		leaves[i] = &x509.Certificate{DNSNames: []string{string(rune('a' + i%26))}}
	}
	for i, leaf := range leaves {
		first := c.of(leaf)
		if again := c.of(leaf); again != first || first.leaf != leaf || first.list[0] != leaf.DNSNames[0] {
			t.Errorf("certificate %d: names %v, then %v; want one list", i, first, again)
		}
	}
	used := 0
	for i := range c.some {
		if c.some[i].Load() != nil {
			used++
		}
	}
	if used < len(c.some)/2 {
		t.Errorf("1,000 certificates use %d of %d entries", used, len(c.some))
	}
}
