package rbac

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
)

func exact(text string) matcher.String { return matcher.String{Kind: matcher.Exact, Text: text} }

// TestPermissionsAndPrincipals has each kind of rule, or its violation. The other list always
// contains only "any".
func TestPermissionsAndPrincipals(t *testing.T) {
	name := exact("spiffe://a")
	header := headerRule{matcher.Header{Name: "x-a", Value: exact("b")}}
	for _, tt := range []struct {
		permission, principal string
		want                  rule
		violation             string // in part
	}{
		{"any: true", "any: true", constant(true), ""},
		{`header { name: "X-A" exact_match: "b" }`, `header { name: "X-A" exact_match: "b" }`, header, ""},
		{`url_path { path { exact: "/s/m" } }`, `url_path { path { exact: "/s/m" } }`, methodPath{exact("/s/m")}, ""},
		{`metadata {}`, `metadata {}`, constant(false), ""},
		{`metadata { invert: true }`, `metadata { invert: true }`, constant(true), ""},
		{`sourced_metadata { metadata_matcher { invert: true } }`, `sourced_metadata { metadata_matcher { invert: true } }`, constant(true), ""},
		{
			`and_rules { rules { any: true } rules { header { name: "x-a" exact_match: "b" } } }`,
			`and_ids { ids { any: true } ids { header { name: "x-a" exact_match: "b" } } }`,
			and{constant(true), header},
			"",
		},
		{`or_rules { rules { any: true } }`, `or_ids { ids { any: true } }`, or{constant(true)}, ""},
		{`not_rule { not_rule { any: true } }`, `not_id { not_id { any: true } }`, not{not{constant(true)}}, ""},

		{"destination_port: 80", "", localPort(80), ""},
		{`destination_ip { address_prefix: "10.1.2.3" prefix_len { value: 8 } }`, "", localAddress{netip.MustParsePrefix("10.0.0.0/8")}, ""},
		{`requested_server_name { exact: "a" }`, "", serverName{exact("a")}, ""},

		{"", `authenticated {}`, authenticated{}, ""},
		{"", `authenticated { principal_name { exact: "spiffe://a" } }`, authenticated{&name}, ""},
		{"", `source_ip { address_prefix: "::1" prefix_len { value: 128 } }`, remoteAddress{netip.MustParsePrefix("::1/128")}, ""},
		{"", `direct_remote_ip { address_prefix: "1.2.3.4" prefix_len { value: 32 } }`, remoteAddress{netip.MustParsePrefix("1.2.3.4/32")}, ""},
		{"", `remote_ip { address_prefix: "1.2.3.4" }`, clientAddress{netip.MustParsePrefix("0.0.0.0/0")}, ""},

		{`header { name: ":scheme" present_match: true }`, `header { name: ":scheme" present_match: true }`, nil, `header.name = ":scheme"; must not be :scheme or start with grpc- (A41)`},
		{`header { name: "Grpc-A" present_match: true }`, `header { name: "Grpc-A" present_match: true }`, nil, `header.name = "grpc-a"; must not be`},
		{`header { name: "a" }`, `header { name: "a" }`, nil, `header.header_match_specifier; must be set`},
		{`url_path { path {} }`, `url_path { path {} }`, nil, `url_path.path.match_pattern; must have`},
		{`and_rules {}`, `and_ids {}`, nil, `s; must not be empty (A41)`},
		{`or_rules {}`, `or_ids {}`, nil, `s; must not be empty (A41)`},
		{`not_rule { or_rules {} }`, `not_id { or_ids {} }`, nil, `s; must not be empty (A41)`},
		{`not_rule {}`, `not_id {}`, nil, `must be one that gRPC supports (A41)`},
		{`destination_port_range { start: 1 end: 2 }`, "", nil, `permissions[0].rule; must be one that gRPC supports (A41)`},
		{`destination_ip { address_prefix: "x" }`, "", nil, `destination_ip.address_prefix = "x"; must be an IP address`},
		{`requested_server_name {}`, "", nil, `requested_server_name.match_pattern; must have`},
		{"", `filter_state { key: "a" string_match { exact: "b" } }`, nil, `principals[0].identifier; must be one that gRPC supports (A41)`},
		{"", `authenticated { principal_name {} }`, nil, `authenticated.principal_name.match_pattern; must have`},
		{"", `source_ip { address_prefix: "x" }`, nil, `source_ip.address_prefix = "x"; must be an IP address`},
		{"", `direct_remote_ip { address_prefix: "x" }`, nil, `direct_remote_ip.address_prefix = "x"; must be an IP address`},
		{"", `remote_ip { address_prefix: "x" }`, nil, `remote_ip.address_prefix = "x"; must be an IP address`},
	} {
		const head = `policies { key: "p" value { `
		if tt.permission != "" {
			c, err := parse(t, head+`permissions { `+tt.permission+` } principals { any: true } } }`)
			checkRule(t, "permission "+tt.permission, c, err, func(p namedPolicy) rule { return p.Permission }, tt.want, tt.violation)
		}
		if tt.principal != "" {
			c, err := parse(t, head+`permissions { any: true } principals { `+tt.principal+` } } }`)
			checkRule(t, "principal "+tt.principal, c, err, func(p namedPolicy) rule { return p.Principal }, tt.want, tt.violation)
		}
	}
}

func checkRule(t *testing.T, where string, c Config, err error, of func(namedPolicy) rule, want rule, violation string) {
	t.Helper()
	if violation != "" {
		if err == nil || !strings.Contains(err.Error(), violation) || !strings.Contains(err.Error(), "rules.policies[p].") {
			t.Errorf("%s: %v, want %q in it", where, err, violation)
		}
		return
	}
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	if got := of(c.Rules.Policies[0]); !reflect.DeepEqual(got, rule(or{want})) {
		t.Errorf("%s decodes to %#v, want %#v", where, got, or{want})
	}
}

func TestRulesThatAreRejected(t *testing.T) {
	const all = `permissions { any: true } principals { any: true } `
	for text, want := range map[string]string{
		`action: 7`: `rules.action = 7; must be one of ALLOW, DENY, LOG (A41)`,
		`policies { key: "p" value { ` + all + `condition {} } }`:         `rules.policies[p].condition; must not be set (A41)`,
		`policies { key: "p" value { ` + all + `checked_condition {} } }`: `rules.policies[p].checked_condition; must not be set (A41)`,
		`policies { key: "p" value { permissions { any: true } } }`:       `rules.policies[p].principals; must not be empty (A41)`,
		`policies { key: "p" value { principals { any: true } } }`:        `rules.policies[p].permissions; must not be empty (A41)`,
	} {
		if c, err := parse(t, text); err == nil || err.Error() != want {
			t.Errorf("%s: %+v, %v; want %s", text, c.Rules, err, want)
		}
	}
}

// TestOverride reads the configuration of a route. Its rules replace the filter's. Without rules it
// disables the filter.
func TestOverride(t *testing.T) {
	f := Filter()
	read := func(fields map[string]any) (Config, error) {
		c, err := f.ParseOverride(nil, typed(t, f.Override, fields))
		config, _ := c.(Config)
		return config, err
	}
	if c, err := read(nil); err != nil || c.Rules != nil {
		t.Errorf("override without rules = %+v, %v; want no rules", c.Rules, err)
	}
	c, err := read(map[string]any{"rbac": map[string]any{"rules": map[string]any{"action": "DENY"}}})
	if err != nil || c.Rules == nil || !c.Rules.Deny {
		t.Errorf("override that denies = %+v, %v", c.Rules, err)
	}
	_, err = read(map[string]any{"rbac": map[string]any{"rules": map[string]any{"policies": map[string]any{"p": map[string]any{}}}}})
	if err == nil || !strings.Contains(err.Error(), "rbac.rules.policies[p].permissions; must not be empty") {
		t.Errorf("an override with an empty policy: %v", err)
	}
	for _, read := range []func(*resource.DecodeContext, resource.TypedConfig) (any, error){f.Parse, f.ParseOverride} {
		if c, err := read(nil, typed(t, f.Config, map[string]any{"unknown": true})); err == nil {
			t.Errorf("an unknown field is accepted: %+v", c)
		}
	}
}

func typed(t *testing.T, message string, fields map[string]any) resource.TypedConfig {
	t.Helper()
	s, err := structpb.NewStruct(fields)
	if err != nil {
		t.Fatal(err)
	}
	return resource.TypedConfig{Message: message, Fields: s}
}
