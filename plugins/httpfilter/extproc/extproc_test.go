package extproc_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/extproc"
)

const (
	service = `"grpc_service": {"google_grpc": {"target_uri": "proc:1"}}`
	minimal = service + `, "processing_mode": {}`
)

func context(t testing.TB) *resource.DecodeContext {
	t.Helper()
	c, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "a", "channel_creds": [{"type": "tls"}]}],
		"allowed_grpc_services": {"proc:1": {"channel_creds": [{"type": "tls"}]}, "proc:2": {"channel_creds": [{"type": "tls"}]}, "none:///x": {"channel_creds": [{"type": "tls"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return &resource.DecodeContext{Bootstrap: c, Server: c.Servers()[0]}
}

func fields(t testing.TB, text string) *structpb.Struct {
	t.Helper()
	out := new(structpb.Struct)
	if err := out.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return out
}

func parse(t testing.TB, text string) (extproc.Config, error) {
	t.Helper()
	f := extproc.Filter(func(scheme string) bool { return scheme != "none" })
	got, err := f.Parse(context(t), resource.TypedConfig{Message: f.Config, Fields: fields(t, text)})
	if err != nil {
		return extproc.Config{}, err
	}
	return got.(extproc.Config), nil
}

// show returns the values of a configuration.
func show(c extproc.Config) string {
	return fmt.Sprint(c.Service, c.Modes, c.FailureModeAllow, c.RequestAttributes, c.ResponseAttributes, c.DisableImmediateResponse, c.ObservabilityMode, c.DeferredCloseTimeout)
}

// TestVerdicts reads configurations as JSON.
func TestVerdicts(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{`{` + minimal + `}`, "proc:1 {true false true false false} false [] [] false false 5s"},
		{
			`{` + service + `, "processing_mode": {"request_header_mode": "SKIP", "response_header_mode": "SKIP", "response_trailer_mode": "SEND", "request_body_mode": "GRPC", "response_body_mode": "GRPC"}}`,
			"proc:1 {false true false true true} false [] [] false false 5s",
		},
		{
			`{` + service + `, "processing_mode": {"request_header_mode": "SEND", "response_header_mode": "DEFAULT", "response_trailer_mode": "SKIP", "request_trailer_mode": "SEND"}}`,
			"proc:1 {true false true false false} false [] [] false false 5s",
		},
		{
			`{` + minimal + `, "failure_mode_allow": true, "request_attributes": ["a"], "response_attributes": ["b"], "disable_immediate_response": true, "observability_mode": true, "deferred_close_timeout": "0.5s"}`,
			"proc:1 {true false true false false} true [a] [b] true true 500ms",
		},
		{
			`{` + minimal + `, "message_timeout": "1s", "max_message_timeout": "9s", "stat_prefix": "x", "filter_metadata": {}, "metadata_options": {}, "allow_mode_override": true,
			"route_cache_action": "CLEAR", "send_body_without_waiting_for_header_response": true, "allowed_override_modes": [{"request_body_mode": "BUFFERED"}], "status_on_error": {"code": "OK"}}`,
			"proc:1 {true false true false false} false [] [] false false 5s",
		},
		{`{"processing_mode": {}}`, "!grpc_service; must be set (A93)"},
		{`{"http_service": {}, "processing_mode": {}}`, "!grpc_service; must be set (A93)"},
		{`{` + service + `}`, "!processing_mode; must be set (A93)"},
		{`{"grpc_service": {"google_grpc": {"target_uri": "b:1"}}, "processing_mode": {}}`, `!grpc_service.google_grpc.target_uri = "b:1"; must be one of the bootstrap's allowed_grpc_services`},
		{`{"grpc_service": {"google_grpc": {"target_uri": "none:///x"}}, "processing_mode": {}}`, `!must have a scheme`},
		{`{` + service + `, "processing_mode": {"request_body_mode": "BUFFERED"}}`, `!processing_mode.request_body_mode`},
		{`{` + service + `, "processing_mode": {"response_body_mode": "FULL_DUPLEX_STREAMED"}}`, `!processing_mode.response_body_mode`},
		{`{` + service + `, "processing_mode": {"response_body_mode": "GRPC"}}`, `!processing_mode.response_trailer_mode = DEFAULT; must be SEND`},
		{`{` + service + `, "processing_mode": {"response_body_mode": "GRPC", "response_trailer_mode": "SKIP"}}`, `!processing_mode.response_trailer_mode = SKIP; must be SEND`},
		{`{` + service + `, "processing_mode": {"request_header_mode": 7}}`, `!processing_mode.request_header_mode`},
		{`{` + minimal + `, "deferred_close_timeout": "0s"}`, `!deferred_close_timeout = 0s; must be a duration above 0s`},
		{`{` + minimal + `, "mutation_rules": {"disallow_expression": {"regex": "("}}}`, `!mutation_rules.disallow_expression.regex`},
		{`{` + minimal + `, "forward_rules": {"allowed_headers": {"patterns": [{"prefix": ""}]}}}`, `!forward_rules.allowed_headers.patterns[0].prefix`},
		{`{` + minimal + `, "forward_rules": {"disallowed_headers": {"patterns": [{}]}}}`, `!forward_rules.disallowed_headers.patterns[0]`},
		{`{` + minimal + `, "request_attributes": [` + strings.Repeat(`"a",`, 100) + `"a"]}`, `!request_attributes = 101; must have at most 100 entries`},
		{`{` + minimal + `, "request_attributes": [` + strings.Repeat(`"a",`, 99) + `"a"]}`, "proc:1 {true false true false false} false [a" + strings.Repeat(" a", 99) + "] [] false false 5s"},
		{`{` + minimal + `, "response_attributes": [` + strings.Repeat(`"a",`, 100) + `"a"]}`, `!response_attributes = 101`},
		{`{` + minimal + `, "unknown": 1}`, `!`},
	} {
		c, err := parse(t, tt.text)
		if rule, bad := strings.CutPrefix(tt.want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), rule) {
				t.Errorf("%s: %v; want %s", tt.text, err, rule)
			}
			continue
		}
		if got := show(c); err != nil || got != tt.want {
			t.Errorf("%s: %s, %v; want %s", tt.text, got, err, tt.want)
		}
	}
}

// An override replaces the fields that it sets. Its field disabled has no effect.
func TestOverride(t *testing.T) {
	base, err := parse(t, `{`+minimal+`, "failure_mode_allow": true, "request_attributes": ["a"], "response_attributes": ["b"]}`)
	if err != nil {
		t.Fatal(err)
	}
	f := extproc.Filter(func(scheme string) bool { return scheme != "none" })
	const same = "proc:1 {true false true false false} true [a] [b] false false 5s"
	for text, want := range map[string]string{
		`{}`:                                  same,
		`{"disabled": true}`:                  same,
		`{"overrides": {"async_mode": true}}`: same,
		`{"overrides": {"metadata_options": {}, "grpc_initial_metadata": [{"key": ":bad"}]}}`: same,
		`{"overrides": {"grpc_service": {"google_grpc": {"target_uri": "proc:2"}}}}`:          strings.Replace(same, "proc:1", "proc:2", 1),
		`{"overrides": {"processing_mode": {"request_body_mode": "GRPC"}}}`:                   strings.Replace(same, "{true false true", "{true true true", 1),
		`{"overrides": {"failure_mode_allow": false}}`:                                        strings.Replace(same, "} true", "} false", 1),
		`{"overrides": {"request_attributes": ["c"], "response_attributes": ["d", "e"]}}`:     strings.Replace(same, "[a] [b]", "[c] [d e]", 1),
		`{"overrides": {"processing_mode": {"request_body_mode": "STREAMED"}}}`:               "!overrides.processing_mode.request_body_mode",
		`{"overrides": {"grpc_service": {"google_grpc": {"target_uri": "b:1"}}}}`:             "!overrides.grpc_service.google_grpc.target_uri",
		`{"overrides": {"request_attributes": [` + strings.Repeat(`"a",`, 100) + `"a"]}}`:     "!overrides.request_attributes",
		`{"unknown": 1}`: "!",
	} {
		o, err := f.ParseOverride(context(t), resource.TypedConfig{Message: f.Override, Fields: fields(t, text)})
		if rule, bad := strings.CutPrefix(want, "!"); bad {
			if err == nil || !strings.Contains(err.Error(), rule) {
				t.Errorf("%s: %v; want %s", text, err, rule)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := show(o.(extproc.Override).Apply(base)); got != want {
			t.Errorf("%s: %s; want %s", text, got, want)
		}
	}
}

// A silent processor has the time limit of message_timeout, or else that of the service, or else 10 s.
func TestAnswerTimeout(t *testing.T) {
	limited := `"grpc_service": {"google_grpc": {"target_uri": "proc:1"}, "timeout": "3s"}, "processing_mode": {}`
	for text, want := range map[string]string{
		minimal:                                "10s",
		minimal + `, "message_timeout": "0s"`:  "10s",
		minimal + `, "message_timeout": "2s"`:  "2s",
		limited:                                "3s",
		limited + `, "message_timeout": "2s"`:  "2s",
		minimal + `, "message_timeout": "-1s"`: `message_timeout = -1s; must be a duration of at least 0s`,
	} {
		c, err := parse(t, `{`+text+`}`)
		got := fmt.Sprint(err)
		if err == nil {
			got = c.AnswerTimeout().String()
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s; want %s", text, got, want)
		}
	}
}
