package rbac

import (
	"crypto/x509"
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
