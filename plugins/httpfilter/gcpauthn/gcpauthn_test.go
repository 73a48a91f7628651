package gcpauthn_test

import (
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/gcpauthn"
)

// TestVerdicts reads the filter's configuration, its override and a cluster's metadata
// as JSON.
func TestVerdicts(t *testing.T) {
	f, audience := gcpauthn.Filter(), gcpauthn.Metadata()
	type parse func(*resource.DecodeContext, resource.TypedConfig) (any, error)
	for _, tt := range []struct {
		parse         parse
		message, text string
		want          any
		err           string // "any": every error text passes
	}{
		{f.Parse, f.Config, `{}`, gcpauthn.Config{CacheSize: 10}, ""},
		{f.Parse, f.Config, `{"cache_config": {}}`, gcpauthn.Config{CacheSize: 10}, ""},
		{f.Parse, f.Config, `{"cache_config": {"cache_size": "1"}}`, gcpauthn.Config{CacheSize: 1}, ""},
		{f.ParseOverride, f.Override, `{"cache_config": {"cache_size": "7"}}`, gcpauthn.Config{CacheSize: 7}, ""},
		{f.Parse, f.Config, `{"cache_config": {"cache_size": "0"}}`, nil, "cache_config.cache_size = 0; must be at least 1 (A83)"},
		{f.Parse, f.Config, `{"unknown": 1}`, nil, "any"},
		{audience.Parse, audience.Message, `{"url": "https://a"}`, gcpauthn.Audience{URL: "https://a"}, ""},
		{audience.Parse, audience.Message, `{}`, nil, `url = ""; must be set (A83)`},
		{audience.Parse, audience.Message, `{"unknown": 1}`, nil, "any"},
	} {
		fields := new(structpb.Struct)
		if err := fields.UnmarshalJSON([]byte(tt.text)); err != nil {
			t.Fatal(err)
		}
		got, err := tt.parse(nil, resource.TypedConfig{Message: tt.message, Fields: fields})
		if tt.err != "" {
			if err == nil || tt.err != "any" && err.Error() != tt.err {
				t.Errorf("%s of %s: %v, want %s", tt.text, tt.message, err, tt.err)
			}
			continue
		}
		if err != nil || got != tt.want {
			t.Errorf("%s of %s: %+v, %v; want %+v", tt.text, tt.message, got, err, tt.want)
		}
	}
}
