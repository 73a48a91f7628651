package localratelimit

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/headerchange"
)

// TestVerdicts reads configurations as JSON, at the edges of the ranges that Envoy allows.
func TestVerdicts(t *testing.T) {
	const day = `"fill_interval": "86400s"`
	for text, want := range map[string]struct {
		config Config
		err    string
	}{
		`{}`: {Config{Status: 429}, ""},
		`{"token_bucket": {"max_tokens": 1, "fill_interval": "0.05s"}, "enable_retry_after_header": true,
			"filter_enabled": {"default_value": {"numerator": 50}}, "filter_enforced": {"default_value": {"numerator": 7, "denominator": "MILLION"}}}`: {
			Config{Status: 429, Bucket: &Bucket{1, 1, 50 * time.Millisecond}, Enabled: 500_000, Enforced: 7, RetryAfter: true}, "",
		},
		`{"token_bucket": {"max_tokens": 4294967295, "tokens_per_fill": 9, ` + day + `}, "status": {"code": "ServiceUnavailable"},
			"response_headers_to_add": [{"header": {"key": "x-a", "value": "b"}, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"}]}`: {
			Config{Status: 503, Bucket: &Bucket{4294967295, 9, 24 * time.Hour}, Headers: []headerchange.Change{{Name: "X-A", Value: "b", Action: headerchange.Overwrite}}}, "",
		},
		`{"status": {"code": 399}}`:                                                {Config{Status: 429}, ""},
		`{"status": {"code": 400}}`:                                                {Config{Status: 400}, ""},
		`{"status": {"code": 599}}`:                                                {Config{Status: 599}, ""},
		`{"status": {"code": 600}}`:                                                {Config{Status: 429}, ""},
		`{"status": {"code": "OK"}}`:                                               {Config{Status: 429}, ""},
		`{"token_bucket": {"max_tokens": 0, ` + day + `}}`:                         {Config{}, "token_bucket.max_tokens = 0; must be at least 1"},
		`{"token_bucket": {"max_tokens": 1, "tokens_per_fill": 0, ` + day + `}}`:   {Config{}, "token_bucket.tokens_per_fill = 0; must be at least 1"},
		`{"token_bucket": {"max_tokens": 1, "fill_interval": "0.049999999s"}}`:     {Config{}, "token_bucket.fill_interval = 49.999999ms; must be at least 50ms"},
		`{"token_bucket": {"max_tokens": 1}}`:                                      {Config{}, "token_bucket.fill_interval = 0s; must be at least 50ms"},
		`{"local_rate_limit_per_downstream_connection": true}`:                     {Config{}, "local_rate_limit_per_downstream_connection; must not be set, because it is not supported"},
		`{"descriptors": [{}]}`:                                                    {Config{}, "descriptors; must not be set, because it is not supported"},
		`{"response_headers_to_add": [{"header": {"key": "host", "value": "b"}}]}`: {Config{}, "response_headers_to_add[0].header.key = \"host\"; must not be host, connection, content-length or transfer-encoding"},
	} {
		fields := new(structpb.Struct)
		if err := fields.UnmarshalJSON([]byte(text)); err != nil {
			t.Fatal(err)
		}
		f := Filter()
		got, err := f.ParseOverride(nil, resource.TypedConfig{Message: f.Override, Fields: fields})
		switch {
		case want.err != "":
			if err == nil || err.Error() != want.err {
				t.Errorf("%s: %v, want %s", text, err, want.err)
			}
		default:
			if diff := cmp.Diff(want.config, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
			}
		}
	}
}
