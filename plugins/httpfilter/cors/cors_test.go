package cors

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// TestPolicies reads policies as JSON.
func TestPolicies(t *testing.T) {
	for text, want := range map[string]struct {
		policy  Policy // without origins
		origins int
		err     string // its beginning
	}{
		`{}`: {policy: Policy{Enabled: all}},
		`{"allow_methods": "GET", "allow_headers": "X-A", "expose_headers": "X-B", "max_age": "60", "allow_credentials": true, "allow_private_network_access": true}`: {
			policy: Policy{Methods: "GET", Headers: "X-A", Expose: "X-B", MaxAge: "60", Credentials: true, PrivateNetwork: true, Enabled: all},
		},
		`{"allow_credentials": false, "allow_private_network_access": false}`: {policy: Policy{Enabled: all}},
		`{"forward_not_matching_preflights": false}`:                          {policy: Policy{Enabled: all, Respond: true}},
		`{"forward_not_matching_preflights": true}`:                           {policy: Policy{Enabled: all}},
		`{"filter_enabled": {"default_value": {"numerator": 25}}}`:            {policy: Policy{Enabled: 250_000}},
		`{"filter_enabled": {"runtime_key": "a"}}`:                            {policy: Policy{}},
		`{"filter_enabled": {"default_value": {"numerator": 1, "denominator": 9}}}`: {
			err: "filter_enabled.default_value.denominator = 9; must be one of HUNDRED, TEN_THOUSAND, MILLION",
		},
		`{"allow_origin_string_match": [{"exact": "https://a.example"}, {"suffix": ".b.example"}]}`: {policy: Policy{Enabled: all}, origins: 2},
		`{"allow_origin_string_match": [{"exact": "https://a.example"}, {}]}`:                       {err: "allow_origin_string_match[1].match_pattern; must have exactly one of"},
		`{"allow_methods": 1}`: {err: "not a envoy.extensions.filters.http.cors.v3.CorsPolicy: "},
	} {
		fields := new(structpb.Struct)
		if err := fields.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		f := Filter()
		got, err := f.ParseOverride(nil, resource.TypedConfig{Message: f.Override, Fields: fields})
		if want.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), want.err) {
				t.Errorf("%s: error %v, want %s", text, err, want.err)
			}
			continue
		}
		policy, _ := got.(Policy)
		if n := len(policy.Origins); n != want.origins {
			t.Errorf("%s: %d origins, want %d", text, n, want.origins)
		}
		policy.Origins = nil
		if diff := cmp.Diff(want.policy, policy); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
}
