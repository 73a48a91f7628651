package rbac_test

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	rbacpolicyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"google.golang.org/grpc/authz/audit"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/rbac"
)

func uri(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil {
		panic(err)
	}
	return u
}

// TestRules tests the matches of each permission and principal (A41).
func TestRules(t *testing.T) {
	byURI := &x509.Certificate{URIs: []*url.URL{uri("spiffe://a/x"), uri("spiffe://a/y")}, DNSNames: []string{"dns.example"}}
	byDNS := &x509.Certificate{DNSNames: []string{"one.example", "dns.example"}, Subject: pkix.Name{CommonName: "me"}}
	bySubject := &x509.Certificate{Subject: pkix.Name{CommonName: "me", Organization: []string{"us"}}}
	for _, test := range []struct {
		permission, principal string
		leaf                  *x509.Certificate
		want                  bool
	}{
		{`any: true`, `any: true`, nil, true},
		{`and_rules { rules { any: true } rules { destination_port: 1 } }`, `any: true`, nil, false},
		{`or_rules { rules { destination_port: 443 } rules { destination_port: 1 } }`, `any: true`, nil, true},
		{`not_rule { destination_port: 443 }`, `any: true`, nil, false},
		{`url_path { path { exact: "/shop.Cart/Add" } }`, `any: true`, nil, true},
		{`url_path { path { prefix: "/shop.Stock/" } }`, `any: true`, nil, false},
		{`destination_ip { address_prefix: "10.0.0.0" prefix_len { value: 8 } }`, `any: true`, nil, true},
		{`destination_ip { address_prefix: "10.0.1.0" prefix_len { value: 24 } }`, `any: true`, nil, false},
		{`destination_port: 443`, `any: true`, nil, true},
		{`destination_port: 65979`, `any: true`, nil, false}, // 443, truncated to 16 bits
		{`metadata { filter: "f" path { key: "k" } value { null_match { } } }`, `any: true`, nil, false},
		{`not_rule { metadata { filter: "f" path { key: "k" } value { null_match { } } } }`, `any: true`, nil, true},
		{`metadata { filter: "f" path { key: "k" } value { null_match { } } invert: true }`, `any: true`, nil, true},
		{`sourced_metadata { metadata_matcher { filter: "f" } }`, `any: true`, nil, false},
		{`requested_server_name { exact: "" }`, `any: true`, nil, true},
		{`requested_server_name { safe_regex { regex: ".*" } }`, `any: true`, nil, true},
		{`requested_server_name { exact: "shop.example" }`, `any: true`, nil, false},

		{`header { name: ":path" string_match { exact: "/shop.Cart/Add" } }`, `any: true`, nil, true},
		{`header { name: ":method" string_match { exact: "POST" } }`, `any: true`, nil, true},
		{`header { name: ":authority" string_match { exact: "shop.example" } }`, `any: true`, nil, true},
		{`header { name: "Host" string_match { exact: "shop.example" } }`, `any: true`, nil, true},
		{`header { name: "content-type" string_match { prefix: "application/grpc" } }`, `any: true`, nil, true},
		{`header { name: "many" string_match { exact: "a,b" } }`, `any: true`, nil, true},
		{`header { name: "trace-bin" string_match { exact: "AP8" } }`, `any: true`, nil, true},
		{`header { name: "te" present_match: true }`, `any: true`, nil, false},
		{`header { name: "connection" present_match: false }`, `any: true`, nil, true},
		{`header { name: "size" range_match { start: 10 end: 13 } }`, `any: true`, nil, true},
		{`header { name: "absent" string_match { exact: "x" } invert_match: true }`, `any: true`, nil, false},
		{`header { name: "tier" string_match { exact: "x" } invert_match: true }`, `any: true`, nil, true},
		{`header { name: "absent" present_match: true invert_match: true }`, `any: true`, nil, true},

		{`any: true`, `and_ids { ids { any: true } ids { not_id { any: true } } }`, nil, false},
		{`any: true`, `or_ids { ids { any: true } ids { not_id { any: true } } }`, nil, true},
		{`any: true`, `source_ip { address_prefix: "192.168.1.0" prefix_len { value: 24 } }`, nil, true},
		{`any: true`, `direct_remote_ip { address_prefix: "192.168.1.5" prefix_len { value: 32 } }`, nil, true},
		{`any: true`, `remote_ip { address_prefix: "192.168.2.0" prefix_len { value: 24 } }`, nil, false},
		{`any: true`, `header { name: "tier" string_match { exact: "gold" } }`, nil, true},
		{`any: true`, `url_path { path { suffix: "/Add" } }`, nil, true},
		{`any: true`, `metadata { filter: "f" path { key: "k" } value { null_match { } } }`, nil, false},
		{`any: true`, `authenticated { }`, nil, true},
		{`any: true`, `authenticated { principal_name { exact: "" } }`, nil, true},
		{`any: true`, `authenticated { principal_name { exact: "" } }`, byURI, false},
		{`any: true`, `authenticated { principal_name { exact: "spiffe://a/y" } }`, byURI, true},
		{`any: true`, `authenticated { principal_name { exact: "dns.example" } }`, byURI, false},
		{`any: true`, `authenticated { principal_name { exact: "dns.example" } }`, byDNS, true},
		{`any: true`, `authenticated { principal_name { prefix: "CN=me" } }`, byDNS, false},
		{`any: true`, `authenticated { principal_name { exact: "CN=me,O=us" } }`, bySubject, true},
	} {
		policy := fmt.Sprintf(`policies { key: "p" value { permissions { %s } principals { %s } } }`, test.permission, test.principal)
		if got := allowed(t, interceptor(t, rbac.Filter(), rules(t, policy)), aCall(test.leaf)); got != test.want {
			t.Errorf("ALLOW %s: %v; want %v", policy, got, test.want)
		}
		if got := allowed(t, interceptor(t, rbac.Filter(), rules(t, `action: DENY `+policy)), aCall(test.leaf)); got == test.want {
			t.Errorf("DENY %s: %v; want %v", policy, got, !test.want)
		}
	}
}

// Without TLS, no call is authenticated. An address that is not an IP address matches nothing.
func TestOtherConnections(t *testing.T) {
	call := &httpfilter.ServerCall{Method: "/a/b", Local: &net.UnixAddr{Name: "a"}}
	for rule, want := range map[string]bool{
		`permissions { any: true } principals { authenticated { } }`:                                               false,
		`permissions { any: true } principals { remote_ip { address_prefix: "0.0.0.0" } }`:                         false,
		`permissions { any: true } principals { not_id { remote_ip { address_prefix: "0.0.0.0" } } }`:              true,
		`permissions { destination_port: 0 } principals { any: true }`:                                             false,
		`permissions { header { name: ":authority" present_match: true } } principals { any: true }`:               false,
		`permissions { destination_ip { address_prefix: "::" prefix_len { value: 0 } } } principals { any: true }`: false,
	} {
		if got := allowed(t, interceptor(t, rbac.Filter(), rules(t, `policies { key: "p" value { `+rule+` } }`)), call); got != want {
			t.Errorf("%s: %v; want %v", rule, got, want)
		}
	}
}

// The zone of a peer's address does not affect matches of prefixes.
func TestZone(t *testing.T) {
	call := &httpfilter.ServerCall{Remote: &net.TCPAddr{IP: net.ParseIP("fe80::1"), Zone: "eth0"}}
	i := interceptor(t, rbac.Filter(), rules(t, `policies { key: "p" value { permissions { any: true } principals { remote_ip { address_prefix: "fe80::" prefix_len { value: 10 } } } } }`))
	if !allowed(t, i, call) {
		t.Error("denied")
	}
}

// Without rules, or with rules that only log, every call passes. An override replaces the whole
// configuration, and may be empty.
func TestOverride(t *testing.T) {
	f := rbac.Filter()
	nobody := parse(t, f.Parse, &rbacv3.RBAC{Rules: rules(t, ``)})
	all := rules(t, `policies { key: "p" value { permissions { any: true } principals { any: true } } }`)
	for _, test := range []struct {
		name             string
		config, override any
		want             bool
	}{
		{"an ALLOW without policies", nobody, nil, false},
		{"no rules", parse(t, f.Parse, &rbacv3.RBAC{}), nil, true},
		{"shadow rules", parse(t, f.Parse, &rbacv3.RBAC{ShadowRules: rules(t, ``)}), nil, true},
		{"LOG", parse(t, f.Parse, &rbacv3.RBAC{Rules: rules(t, `action: LOG`)}), nil, true},
		{"an override with nothing", nobody, parse(t, f.ParseOverride, &rbacv3.RBACPerRoute{}), true},
		{"an override", nobody, parse(t, f.ParseOverride, &rbacv3.RBACPerRoute{Rbac: &rbacv3.RBAC{Rules: all}}), true},
		{"an override without policies", parse(t, f.Parse, &rbacv3.RBAC{}), parse(t, f.ParseOverride, &rbacv3.RBACPerRoute{Rbac: &rbacv3.RBAC{Rules: rules(t, ``)}}), false},
	} {
		i, err := create(t, f, test.config, test.override)
		if err != nil {
			t.Fatal(err)
		}
		if got := allowed(t, i, aCall(nil)); got != test.want {
			t.Errorf("%s: %v; want %v", test.name, got, test.want)
		}
	}
	if _, err := create(t, f, "a configuration", nil); err == nil {
		t.Error("a configuration of another filter is taken")
	}
}

// A log records its events.
type log struct {
	name   string
	events []string
	audit.LoggerConfig
}

func (l *log) Name() string                            { return l.name }
func (l *log) Build(c audit.LoggerConfig) audit.Logger { return c.(*log) }
func (l *log) Log(e *audit.Event) {
	l.events = append(l.events, fmt.Sprint(e.FullMethodName, " ", e.Principal, " ", e.MatchedRule, " ", e.Authorized))
}

func (l *log) ParseLoggerConfig(raw json.RawMessage) (audit.LoggerConfig, error) {
	var c struct{ Bad bool }
	if err := json.Unmarshal(raw, &c); err != nil || c.Bad {
		return nil, errors.New("a bad configuration")
	}
	return l, nil
}

const auditText = `audit_logging_options { audit_condition: %s
	logger_configs { audit_logger { name: "mine" typed_config { [type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "x/log" } } } }
	logger_configs { audit_logger { name: "other" typed_config { [type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "x/unknown" } } } is_optional: true } }`

// The filter passes decisions to the audit loggers, with the first policy that matched (A59).
func TestAudit(t *testing.T) {
	both := `policies { key: "b" value { permissions { any: true } principals { any: true } } }
		policies { key: "a" value { permissions { destination_port: %d } principals { any: true } } }`
	leaf := &x509.Certificate{URIs: []*url.URL{uri("spiffe://a/x")}}
	for _, test := range []struct {
		rules, condition string
		want             []string
	}{
		{fmt.Sprintf(both, 1), "ON_ALLOW", []string{"/shop.Cart/Add spiffe://a/x b true"}},
		{fmt.Sprintf(both, 443), "ON_DENY_AND_ALLOW", []string{"/shop.Cart/Add spiffe://a/x a true"}},
		{`action: DENY ` + fmt.Sprintf(both, 443), "ON_DENY", []string{"/shop.Cart/Add spiffe://a/x a false"}},
		{``, "ON_DENY_AND_ALLOW", []string{"/shop.Cart/Add spiffe://a/x  false"}},
		{`action: DENY`, "ON_ALLOW", []string{"/shop.Cart/Add spiffe://a/x  true"}},
		{fmt.Sprintf(both, 1), "ON_DENY", nil},
		{``, "ON_ALLOW", nil},
		{``, "NONE", nil},
	} {
		l := &log{name: "log"}
		i := interceptor(t, rbac.Filter(l), rules(t, test.rules+" "+fmt.Sprintf(auditText, test.condition)))
		allowed(t, i, aCall(leaf))
		if !slices.Equal(l.events, test.want) {
			t.Errorf("%s, %s: %q; want %q", test.rules, test.condition, l.events, test.want)
		}
	}
}

// The standard output logger is always available.
func TestStdoutLogger(t *testing.T) {
	i := interceptor(t, rbac.Filter(), rules(t, `audit_logging_options { audit_condition: ON_ALLOW
		logger_configs { audit_logger { name: "out" typed_config { [type.googleapis.com/envoy.extensions.rbac.audit_loggers.stream.v3.StdoutAuditLog] { } } } } }`))
	if allowed(t, i, aCall(nil)) {
		t.Error("allowed")
	}
}

// The error of a denied call does not reveal the policies. Only the log gets the name of the policy.
func TestDenial(t *testing.T) {
	i := interceptor(t, rbac.Filter(), rules(t, `action: DENY policies { key: "secret" value { permissions { any: true } principals { any: true } } }`))
	_, err := i(t.Context(), aCall(nil))
	if st, ok := status.FromError(err); !ok || st.Code() != codes.PermissionDenied || st.Message() != "rbac: a policy denies the call" {
		t.Errorf("the status is %v; want one without the policy", st)
	}
	var named interface{ DeniedBy() string }
	if !errors.As(err, &named) || named.DeniedBy() != "secret" {
		t.Errorf("the error %v does not have the policy for the log", err)
	}
}

// hundred are 100 policies, each for one method and one of three peers. The last one matches.
func hundred(t testing.TB) *rbacpolicyv3.RBAC {
	t.Helper()
	var b strings.Builder
	for i := range 100 {
		method := fmt.Sprintf("/shop.Cart/Method%d", i)
		if i == 99 {
			method = "/shop.Cart/Add"
		}
		fmt.Fprintf(&b, `policies { key: "p%02d" value {
			permissions { url_path { path { exact: %q } } }
			permissions { and_rules { rules { header { name: "tier" string_match { exact: "tin" } } } rules { destination_port: 443 } } }
			principals { authenticated { principal_name { exact: "spiffe://a/%d" } } }
			principals { authenticated { principal_name { prefix: "spiffe://a/x" } } }
			principals { remote_ip { address_prefix: "10.0.0.0" prefix_len { value: 8 } } } } } `, i, method, i)
	}
	return rules(t, b.String())
}

func TestMatchingAllocatesNothing(t *testing.T) {
	i := interceptor(t, rbac.Filter(), hundred(t))
	call := aCall(&x509.Certificate{URIs: []*url.URL{uri("spiffe://a/x")}})
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		if _, err := i(ctx, call); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations for a call", n)
	}
}

func BenchmarkHundredPolicies(b *testing.B) {
	i := interceptor(b, rbac.Filter(), hundred(b))
	call := aCall(&x509.Certificate{URIs: []*url.URL{uri("spiffe://a/x")}})
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := i(ctx, call); err != nil {
			b.Fatal(err)
		}
	}
}
