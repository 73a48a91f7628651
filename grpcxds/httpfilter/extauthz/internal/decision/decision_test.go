package decision_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/extauthz/internal/decision"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/extauthz"
)

// parse reads a configuration with a service, which ends with a text.
func parse(t *testing.T, text string) (extauthz.Config, error) {
	t.Helper()
	c, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "a", "channel_creds": [{"type": "tls"}]}],
		"allowed_grpc_services": {"authz:1": {"channel_creds": [{"type": "tls"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	fields := new(structpb.Struct)
	if err := fields.UnmarshalJSON([]byte(`{"grpc_service": {"google_grpc": {"target_uri": "authz:1"}}` + text)); err != nil {
		t.Fatal(err)
	}
	f := extauthz.Filter(nil)
	got, err := f.Parse(&resource.DecodeContext{Bootstrap: c, Server: c.Servers()[0]}, resource.TypedConfig{Message: f.Config, Fields: fields})
	if err != nil {
		return extauthz.Config{}, err
	}
	return got.(extauthz.Config), nil
}

// TestDecide reads responses with the rule that x-no may not change.
func TestDecide(t *testing.T) {
	for _, tt := range []struct{ rules, response, want string }{
		{"", ``, `true 0 "" map[a:[1]] map[] map[]`},
		{"", `denied_response { status { code: Unauthorized } }`, `true 0 "" map[a:[1]] map[] map[]`},
		{"", `ok_response { headers { header { key: "a" value: "2" } } headers { header { key: "b" value: "3" } append_action: OVERWRITE_IF_EXISTS } response_headers_to_add { header { key: "c" value: "4" } } }`, `true 0 "" map[a:[1 2]] map[c:[4]] map[]`},
		{"", `ok_response { headers_to_remove: "a" headers { header { key: "b" value: "3" } } }`, `true 0 "" map[b:[3]] map[] map[]`},
		{"", `ok_response { headers_to_remove: "a" }`, `true 0 "" map[] map[] map[]`},
		{"", `ok_response { headers { header { key: "b" value: "3" } } }`, `true 0 "" map[a:[1] b:[3]] map[] map[]`},
		{"", `ok_response { headers { header { key: "x-no" } } headers_to_remove: "x-no" response_headers_to_add { header { key: "x-no" } } }`, `true 0 "" map[a:[1]] map[] map[]`},
		{"", `status { code: 7 message: "m" }`, `false 7 "m" map[] map[] map[]`},
		{"", `status { code: 16 } denied_response {}`, `false 7 "" map[] map[] map[]`},
		{"", `status { code: 16 } ok_response { headers { header { key: "a" value: "2" } } }`, `false 7 "" map[] map[] map[]`},
		{"", `status { code: 1 } denied_response { status { code: NotFound } headers { header { key: "t" value: "1" } } headers { header { key: "t" value: "2" } } headers { header { key: "x-no" value: "2" } } }`, `false 12 "" map[] map[] map[t:[1 2]]`},
		{"", `status { code: 1 } denied_response { status { code: OK } }`, `false 2 "" map[] map[] map[]`},
		{"", `ok_response { headers { header { key: "A" } } }`, `!ok_response.headers: header.key = "A";`},
		{"", `ok_response { headers_to_remove: "host" }`, `!ok_response.headers_to_remove: name = "host";`},
		{"", `ok_response { response_headers_to_add { header { key: ":status" } } }`, `!ok_response.response_headers_to_add: header.key = ":status";`},
		{"", `status { code: 1 } denied_response { headers { header { key: "grpc-status" } } }`, `!denied_response.headers: header.key = "grpc-status";`},
		{`, "disallow_is_error": true`, `ok_response { headers { header { key: "x-no" } } }`, `?ok_response.headers: x-no`},
		{`, "disallow_is_error": true`, `ok_response { headers_to_remove: "x-no" }`, `?ok_response.headers_to_remove: x-no`},
		{`, "disallow_is_error": true`, `ok_response { response_headers_to_add { header { key: "x-no" } } }`, `?ok_response.response_headers_to_add: x-no`},
		{`, "disallow_is_error": true`, `status { code: 1 } denied_response { headers { header { key: "x-no" } } }`, `?denied_response.headers: x-no`},
	} {
		c, err := parse(t, `, "decoder_header_mutation_rules": {"disallow_expression": {"regex": "x-no"}`+tt.rules+`}}`)
		if err != nil {
			t.Fatal(err)
		}
		m := new(authv3.CheckResponse)
		if err := prototext.Unmarshal([]byte(tt.response), m); err != nil {
			t.Fatal(err)
		}
		d, err := decision.Decide(&c, m)
		if rule, disallowed := strings.CutPrefix(tt.want, "?"); disallowed || tt.want[0] == '!' {
			rule = strings.TrimPrefix(rule, "!")
			if err == nil || !strings.HasPrefix(err.Error(), rule) || errors.Is(err, decision.ErrDisallowed) != disallowed {
				t.Errorf("%s: %v; want %s, disallowed %t", tt.response, err, rule, disallowed)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.response, err)
			continue
		}
		request, response := map[string][]string{}, map[string][]string{}
		if d.Allowed {
			request["a"] = []string{"1"}
			d.Request(request)
			d.Response(response)
			if got, want := d.ChangesRequest(), fmt.Sprint(request) != "map[a:[1]]"; got != want {
				t.Errorf("%s: changes the request: %t; want %t", tt.response, got, want)
			}
			if got, want := d.ChangesResponse(), len(response) > 0; got != want {
				t.Errorf("%s: changes the response: %t; want %t", tt.response, got, want)
			}
		}
		if got := fmt.Sprintf("%t %d %q %v %v %v", d.Allowed, d.Code, d.Message, request, response, d.Trailers()); got != tt.want {
			t.Errorf("%s: %s; want %s", tt.response, got, tt.want)
		}
	}
}

// Each list of a response has a limit.
func TestLimitsOfResponses(t *testing.T) {
	c, err := parse(t, `}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1000, 1001} {
		changes := slices.Repeat([]*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "a"}}}, n)
		names := slices.Repeat([]string{"a"}, n)
		for field, m := range map[string]*authv3.OkHttpResponse{
			"headers": {Headers: changes}, "headers_to_remove": {HeadersToRemove: names}, "response_headers_to_add": {ResponseHeadersToAdd: changes},
		} {
			want := ""
			if n > 1000 {
				want = "ok_response." + field + " = 1001 entries; must have at most 1000"
			}
			got := ""
			if _, err := decision.Decide(&c, &authv3.CheckResponse{HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: m}}); err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%d entries of %s: the error is %q; want %q", n, field, got, want)
			}
		}
	}
}
