package extauthz_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/extauthz"
)

const service = `"grpc_service": {"google_grpc": {"target_uri": "authz:1"}}`

func context(t testing.TB) *resource.DecodeContext {
	t.Helper()
	c, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "a", "channel_creds": [{"type": "tls"}]}],
		"allowed_grpc_services": {"authz:1": {"channel_creds": [{"type": "tls"}]}, "none:///x": {"channel_creds": [{"type": "tls"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &resource.DecodeContext{Bootstrap: c, Server: c.Servers()[0]}
}

func parse(t testing.TB, text string) (extauthz.Config, error) {
	t.Helper()
	fields := new(structpb.Struct)
	if err := fields.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	f := extauthz.Filter(func(scheme string) bool { return scheme != "none" })
	got, err := f.Parse(context(t), resource.TypedConfig{Message: f.Config, Fields: fields})
	if err != nil {
		return extauthz.Config{}, err
	}
	return got.(extauthz.Config), nil
}

// TestVerdicts reads configurations as JSON.
func TestVerdicts(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{` + service + `}`, "1000000 false false false 7 false"},
		{`{` + service + `, "failure_mode_allow": true, "failure_mode_allow_header_add": true, "include_peer_certificate": true}`, "1000000 false true true 7 true"},
		{`{` + service + `, "filter_enabled": {"default_value": {"numerator": 1, "denominator": "TEN_THOUSAND"}, "runtime_key": "x"}}`, "100 false false false 7 false"},
		{`{` + service + `, "filter_enabled": {"default_value": {"numerator": 200}}}`, "1000000 false false false 7 false"},
		{`{` + service + `, "filter_enabled": {"default_value": {}}, "deny_at_disable": {"default_value": true}}`, "0 true false false 7 false"},
		{`{` + service + `, "deny_at_disable": {"default_value": false}, "status_on_error": {"code": "ServiceUnavailable"}}`, "1000000 false false false 14 false"},
		{`{` + service + `, "status_on_error": {"code": "OK"}}`, "1000000 false false false 2 false"},
		{`{` + service + `, "status_on_error": {}, "with_request_body": {}, "clear_route_cache": true, "stat_prefix": "x"}`, "1000000 false false false 7 false"},
		{`{}`, `!grpc_service; must be set (A92)`},
		{`{"http_service": {}}`, `!grpc_service; must be set (A92)`},
		{`{"grpc_service": {"google_grpc": {"target_uri": "b:1"}}}`, `!grpc_service.google_grpc.target_uri = "b:1"; must be one of the bootstrap's allowed_grpc_services`},
		{`{"grpc_service": {"google_grpc": {"target_uri": "none:///x"}}}`, `!grpc_service.google_grpc.target_uri = "none:///x"; must have a scheme`},
		{`{` + service + `, "filter_enabled": {}}`, `!filter_enabled.default_value; must be set (A92)`},
		{`{` + service + `, "filter_enabled": {"default_value": {"denominator": 9}}}`, `!filter_enabled.default_value.denominator`},
		{`{` + service + `, "deny_at_disable": {}}`, `!deny_at_disable.default_value; must be set (A92)`},
		{`{` + service + `, "allowed_headers": {"patterns": [{}]}}`, `!allowed_headers.patterns[0].match_pattern`},
		{`{` + service + `, "disallowed_headers": {"patterns": [{"prefix": ""}]}}`, `!disallowed_headers.patterns[0].prefix`},
		{`{` + service + `, "decoder_header_mutation_rules": {"allow_expression": {"regex": "("}}}`, `!decoder_header_mutation_rules.allow_expression.regex`},
		{`{` + service + `, "unknown": 1}`, `!`},
	} {
		c, err := parse(t, tt.text)
		if rule, bad := strings.CutPrefix(tt.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), rule) {
				t.Errorf("%s: %v; want %s", tt.text, err, rule)
			}
			continue
		}
		got := fmt.Sprint(c.EnabledPerMillion, c.DenyAtDisable, c.FailureModeAllow, c.FailureModeHeader, c.StatusOnError, c.IncludePeerCertificate)
		if err != nil || got != tt.want || c.Service.String() != "authz:1" {
			t.Errorf("%s: %s, %v; want %s", tt.text, got, err, tt.want)
		}
	}
	a, err := parse(t, `{`+service+`}`)
	if err != nil {
		t.Fatal(err)
	}
	b, err := parse(t, `{`+service+`}`)
	if err != nil {
		t.Fatal(err)
	}
	c, err := parse(t, `{`+service+`, "failure_mode_allow": true}`)
	if err != nil {
		t.Fatal(err)
	}
	if !a.Equal(b) || a.Equal(c) {
		t.Errorf("Equal: %t, %t; want it for equal messages only", a.Equal(b), a.Equal(c))
	}
}

// An override is only checked for its form. Its field disabled has no effect.
func TestOverride(t *testing.T) {
	f := extauthz.Filter(nil)
	for text, ok := range map[string]bool{`{}`: true, `{"disabled": true}`: true, `{"unknown": 1}`: false} {
		fields := new(structpb.Struct)
		if err := fields.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		_, err := f.ParseOverride(nil, resource.TypedConfig{Message: f.Override, Fields: fields})
		if (err == nil) != ok {
			t.Errorf("%s: %v; want ok %t", text, err, ok)
		}
	}
}

// A check has the time limit of its service, or else 5 s.
func TestTimeout(t *testing.T) {
	for text, want := range map[string]string{
		service: "5s",
		`"grpc_service": {"google_grpc": {"target_uri": "authz:1"}, "timeout": "0.2s"}`: "200ms",
	} {
		c, err := parse(t, `{`+text+`}`)
		if err != nil || c.Service.Timeout.String() != want {
			t.Errorf("%s: %v, %v; want %s", text, c.Service.Timeout, err, want)
		}
	}
}
