package rbac

import (
	"errors"
	"strings"
	"testing"

	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	rbacpolicyv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

func parse(t *testing.T, text string, loggers ...AuditLogger) (Config, error) {
	t.Helper()
	rules := new(rbacpolicyv3.RBAC)
	if err := prototext.Unmarshal([]byte(text), rules); err != nil {
		t.Fatal(err)
	}
	packed, err := anypb.New(&rbacv3.RBAC{Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	c, err := resource.OpenTypedConfig(packed)
	if err != nil {
		t.Fatal(err)
	}
	read, err := Filter(loggers...).Parse(nil, c)
	config, _ := read.(Config)
	return config, err
}

// Evaluate tries policies in the order of their names, so that it always returns the same match.
func TestPoliciesAreSorted(t *testing.T) {
	const policy = `value { permissions { destination_port: 1 } principals { any: true } } } `
	c, err := parse(t, `action: DENY policies { key: "b" `+policy+`policies { key: "a" `+policy)
	rule := func(name string) namedPolicy {
		return namedPolicy{name, or{localPort(1)}, or{constant(true)}}
	}
	if diff := cmp.Diff(&ruleSet{Deny: true, Policies: []namedPolicy{rule("a"), rule("b")}}, c.Rules); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func logger(name string) string {
	return `logger_configs { audit_logger { name: "l" typed_config { [type.googleapis.com/xds.type.v3.TypedStruct] { type_url: "x/` + name + `" } } } `
}

// An unknown audit logger must be optional, and the configurations of known ones must be valid
// (A59).
func TestAudit(t *testing.T) {
	known := []AuditLogger{
		{Config: "good", Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) { return c.Message, nil }},
		{Config: "bad", Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) { return nil, errors.New("is bad") }},
	}
	const stdout = `logger_configs { audit_logger { typed_config { [type.googleapis.com/` + stdoutMessage + `] { } } } } `
	for _, test := range []struct {
		options string
		want    Audit
		err     string
	}{
		{`audit_condition: ON_DENY`, Audit{OnDeny: true}, ""},
		{`audit_condition: ON_ALLOW ` + logger("good") + `} ` + stdout, Audit{OnAllow: true, Loggers: []AuditConfig{{"good", "good"}, {stdoutMessage, nil}}}, ""},
		{`audit_condition: ON_DENY_AND_ALLOW ` + logger("unknown") + `is_optional: true }`, Audit{OnDeny: true, OnAllow: true}, ""},
		{logger("unknown") + `}`, Audit{}, `logger_configs[0].audit_logger.typed_config = "unknown"; must be of an audit logger that is known, or optional (A59)`},
		{logger("bad") + `is_optional: true }`, Audit{}, `logger_configs[0].audit_logger.typed_config; is bad`},
		{`logger_configs { is_optional: true }`, Audit{}, `logger_configs[0].audit_logger.typed_config; must be set`},
		{`audit_condition: 7`, Audit{}, `audit_logging_options.audit_condition = 7; must be one of`},
	} {
		c, err := parse(t, `audit_logging_options { `+test.options+` }`, known...)
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v; want %s", test.options, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.options, err)
			continue
		}
		if diff := cmp.Diff(test.want, c.Audit); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.options, diff)
		}
	}
}

// The filter ignores rules that only log, and their audit loggers (A41).
func TestLog(t *testing.T) {
	if c, err := parse(t, `action: LOG audit_logging_options { `+logger("unknown")+`} }`); err != nil || c.Rules != nil {
		t.Errorf("rules that only log = %v, %v; want nil", c.Rules, err)
	}
}

func TestEqual(t *testing.T) {
	texts := []string{
		`action: LOG`,
		`action: ALLOW`,
		`action: DENY`,
		`audit_logging_options { audit_condition: ON_DENY }`,
		`policies { key: "b" value { permissions { destination_port: 1 } principals { any: true } } }`,
	}
	for i, a := range texts {
		for j, b := range texts {
			first, err := parse(t, a)
			if err != nil {
				t.Fatal(err)
			}
			second, err := parse(t, b)
			if err != nil {
				t.Fatal(err)
			}
			if got := first.Equal(second); got != (i == j) {
				t.Errorf("%s and %s: %v", a, b, got)
			}
		}
	}
}

// A matcher takes the place of rules, so a filter that ignores it allows all calls.
func TestMatcher(t *testing.T) {
	matcher := new(matcherv3.Matcher)
	for _, tt := range []struct {
		rbac *rbacv3.RBAC
		want string
	}{
		{&rbacv3.RBAC{Matcher: matcher}, "matcher; must not be set; use rules"},
		{&rbacv3.RBAC{Matcher: matcher, Rules: &rbacpolicyv3.RBAC{Action: rbacpolicyv3.RBAC_LOG}}, "matcher; must not be set; use rules"},
		{&rbacv3.RBAC{ShadowMatcher: matcher}, ""},
		{nil, ""},
	} {
		parse := func(f func(*resource.DecodeContext, resource.TypedConfig) (any, error), m proto.Message) string {
			packed, err := anypb.New(m)
			if err != nil {
				t.Fatal(err)
			}
			c, err := resource.OpenTypedConfig(packed)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f(nil, c); err != nil {
				return err.Error()
			}
			return ""
		}
		if tt.rbac != nil {
			if got := parse(Filter().Parse, tt.rbac); got != tt.want {
				t.Errorf("%v: %q, want %q", tt.rbac, got, tt.want)
			}
		}
		want := tt.want
		if want != "" {
			want = "rbac." + want
		}
		if got := parse(Filter().ParseOverride, &rbacv3.RBACPerRoute{Rbac: tt.rbac}); got != want {
			t.Errorf("override %v: %q, want %q", tt.rbac, got, want)
		}
	}
}
