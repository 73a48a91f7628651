package route_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/plugins/route"
)

// TestHeaderValues formats values for a request with the headers :path, X-A and X-Empty.
func TestHeaderValues(t *testing.T) {
	header := func(name string) string {
		return map[string]string{":path": "/abc", "X-A": "first", "X-B": "second"}[name]
	}
	for text, want := range map[string]string{
		`plain`:                       "plain",
		`%%`:                          "%",
		`a%%%REQ(x-a)%%%b`:            "a%first%b",
		`%REQ(x-none)%`:               "",
		`%REQ(x-none?x-b)%`:           "second",
		`%REQ(x-a?x-b)%`:              "first",
		`%REQ(x-none?x-other)%`:       "",
		`%REQ(x-a):3%`:                "fir",
		`%REQ(x-a):5%`:                "first",
		`%REQ(x-a):99%`:               "first",
		`%REQ(:path):2%%REQ(x-b):1%!`: "/as"[:2] + "s!",
		`%REQ(x-none?x-b):3%`:         "sec",
	} {
		h := host(t, `routes { match { prefix: "" } route { cluster: "c" } request_headers_to_add { header { key: "x" value: "`+text+`" } } }`)
		if got := h.HTTP(0).Headers.Request[0].Value.Format(header); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{`%`, `a%REQ(x-a)`, `%RESP(x)%`, `%REQ(x-a%`, `%REQ(x-a)3%`, `%REQ(x-a):%`, `%REQ(x-a):65536%`, `%REQ()%`, `%REQ(?x-a)%`} {
		if got := rejected(t, `match { prefix: "" } route { cluster: "c" } request_headers_to_add { header { key: "x" value: "`+text+`" } }`); !strings.Contains(got, "must have only the operators") {
			t.Errorf("%s has the error %q, want one about operators", text, got)
		}
	}
}

// TestHeaderActions expects the actions of all fields that change headers, removals first.
func TestHeaderActions(t *testing.T) {
	add := func(more string) string {
		return `response_headers_to_add { header { key: "x" value: "v" } ` + more + ` } `
	}
	h := host(t, `routes { match { prefix: "" } route { cluster: "c" } `+add(``)+add(`append_action: ADD_IF_ABSENT keep_empty_value: true`)+
		add(`append_action: OVERWRITE_IF_EXISTS_OR_ADD`)+add(`append_action: OVERWRITE_IF_EXISTS`)+add(`append { value: false }`)+add(`append { value: true }`)+
		`response_headers_to_add { header { key: "x" raw_value: "raw" } } response_headers_to_remove: "x-removed" }`)
	var got []string
	for _, c := range h.HTTP(0).Headers.Response {
		got = append(got, fmt.Sprintf("%s %d %s %t", c.Name, c.Action, c.Value.Format(nil), c.KeepEmpty))
	}
	want := []string{"X-Removed 4  false", "X 0 v false", "X 1 v true", "X 2 v false", "X 3 v false", "X 2 v false", "X 0 v false", "X 0 raw false"}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("the changes are %q, want %q", got, want)
	}
}

// TestHTTPActions expects the fields of redirects, rewrites, responses and retries.
func TestHTTPActions(t *testing.T) {
	h := host(t, `
		routes { match { prefix: "/0" } redirect { path_redirect: "/p?q" port_redirect: 81 scheme_redirect: "http" } }
		routes { match { prefix: "/1" } redirect { regex_rewrite { pattern { regex: "a(b)" } substitution: "\\1$" } response_code: SEE_OTHER } }
		routes { match { prefix: "/2" } redirect { prefix_rewrite: "" response_code: TEMPORARY_REDIRECT } }
		routes { match { prefix: "/3" } redirect { response_code: PERMANENT_REDIRECT } }
		routes { match { prefix: "/4" } direct_response { status: 200 body { inline_bytes: "b" } } }
		routes { match { prefix: "/5" } direct_response { status: 200 body { inline_string: "`+strings.Repeat("x", 4096)+`" } } }
		routes { match { prefix: "/6" } direct_response { status: 204 } }
		routes { match { prefix: "/7" } route { cluster: "c" host_rewrite_header: "X-Host" regex_rewrite { pattern { regex: "x" } substitution: "y" } timeout {} } }
		routes { match { prefix: "/8" } route { cluster: "c" host_rewrite_path_regex { pattern { regex: "/(.*)" } substitution: "\\1" } } }
		routes { match { prefix: "/9" } route { cluster: "c" retry_policy { retry_on: " 5xx , gateway-error,other,retriable-headers" retriable_status_codes: 418
			retriable_headers { name: "x" present_match: true } retriable_request_headers { name: "y" present_match: true } num_retries { value: 0 } } } }`)
	for i, want := range []string{
		"http  81 /p?q {false } false 301",
		`  0  {false a(b)->${1}$$} false 303`,
		"  0  {true } false 307",
		"  0  {false } false 308",
	} {
		r := h.HTTP(i).Redirect
		regex := ""
		if x := r.Rewrite.Regex; x != nil {
			regex = x.Pattern.String() + "->" + x.Substitution
		}
		if got := fmt.Sprintf("%s %s %d %s {%t %s} %t %d", r.Scheme, r.Host, r.Port, r.Path, r.Rewrite.PrefixSet, regex, r.StripQuery, r.Status); got != want {
			t.Errorf("the redirect of route %d is %q, want %q", i, got, want)
		}
	}
	for i, want := range map[int]route.DirectResponse{4: {Status: 200, Body: "b"}, 5: {Status: 200, Body: strings.Repeat("x", 4096)}, 6: {Status: 204}} {
		if got := h.HTTP(i).Direct; got == nil || *got != want {
			t.Errorf("the response of route %d is %.50v", i, got)
		}
	}
	if r := h.HTTP(7); r.Rewrite.HostHeader != "x-host" || r.Rewrite.PrefixSet || r.Rewrite.Regex == nil || r.Rewrite.Regex.Pattern.String() != "x" || r.Timeout != 0 {
		t.Errorf("route 7 is %+v, want the host of a header, another path, and no timeout", r)
	}
	if r := h.HTTP(8).Rewrite.HostPath; r == nil || r.Pattern.ReplaceAllString("/h", r.Substitution) != "h" {
		t.Errorf("the host of route 8 is %+v, want the path without a slash", r)
	}
	r := h.HTTP(9).Retry
	if r.On != route.Retry5xx|route.RetryGatewayError|route.RetryHeaders || r.Max != 0 || fmt.Sprint(r.Statuses) != "[418]" || len(r.Headers) != 1 || len(r.RequestHeaders) != 1 || r.PerTry != 0 {
		t.Errorf("route 9 is retried by %+v", r)
	}
	if b := h.HTTP(9).Retry.BackOff; b.Base != 25*time.Millisecond || b.Max != 250*time.Millisecond {
		t.Errorf("route 9 is retried after %+v, want the default", b)
	}
}

// TestHTTPRejections expects the violations of rewrites, retries and headers.
func TestHTTPRejections(t *testing.T) {
	for text, want := range map[string]string{
		`route { cluster: "c" path_rewrite_policy { name: "p" } }`:                                                `route.path_rewrite_policy = "p"; must not be set`,
		`route { cluster: "c" host_rewrite_path_regex { pattern { regex: "(" } } }`:                               `route.host_rewrite_path_regex.pattern.regex = "("`,
		`redirect { regex_rewrite { pattern { regex: "(" } } }`:                                                   `redirect.regex_rewrite.pattern.regex = "("`,
		`direct_response { status: 200 body { inline_string: "` + strings.Repeat("x", 4097) + `" } }`:             `must have at most 4096 bytes`,
		`route { cluster: "c" } response_headers_to_remove: "host"`:                                               `response_headers_to_remove[0] = "host"; must be neither`,
		`route { cluster: "c" } response_headers_to_remove: "x" response_headers_to_remove: ":status"`:            `response_headers_to_remove[1] = ":status"; must be neither`,
		`route { cluster: "c" } response_headers_to_add { header { key: "Host" value: "v" } }`:                    `response_headers_to_add[0].header.key = "Host"; must be neither`,
		`route { cluster: "c" retry_policy { retry_back_off { base_interval { seconds: -1 } } } }`:                `retry_back_off`,
		`route { cluster: "c" retry_policy { retriable_headers { name: "x" safe_regex_match { regex: "(" } } } }`: `retriable_headers[0]`,
	} {
		if got := rejected(t, `match { prefix: "" } `+text); !strings.Contains(got, want) {
			t.Errorf("%.150s:\n%v, want %q", text, got, want)
		}
	}
}
