package gcpauthn

import (
	gcpauthnv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/gcp_authn/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Config is the configuration of the filter.
type Config struct {
	// CacheSize is the limit of cached tokens.
	CacheSize uint64
}

// defaultCacheSize is the default of CacheSize (A83).
const defaultCacheSize = 10

// Filter returns the GCP authentication filter. It validates overrides and ignores them.
func Filter() *resource.HTTPFilter {
	const message = "envoy.extensions.filters.http.gcp_authn.v3.GcpAuthnFilterConfig"
	return &resource.HTTPFilter{
		Config: message, Override: message, Sides: resource.ClientSide,
		Parse: parse, ParseOverride: parse,
	}
}

func parse(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
	m := new(gcpauthnv3.GcpAuthnFilterConfig)
	if err := c.Unmarshal(m); err != nil {
		return nil, err
	}
	out := Config{CacheSize: defaultCacheSize}
	if size := m.GetCacheConfig().GetCacheSize(); size != nil {
		if out.CacheSize = size.GetValue(); out.CacheSize == 0 {
			var v resource.Violations
			v.Add((*resource.Path)(nil).Field("cache_config.cache_size"), 0, "must be at least 1 (A83)")
			return nil, v.Err()
		}
	}
	return out, nil
}

// Audience is the audience of a cluster's tokens.
type Audience struct{ URL string }

// Metadata returns the kind of metadata that has an [Audience].
func Metadata() *resource.MetadataKind {
	return &resource.MetadataKind{
		Message: "envoy.extensions.filters.http.gcp_authn.v3.Audience",
		Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(gcpauthnv3.Audience)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			if m.GetUrl() == "" {
				var v resource.Violations
				v.Add((*resource.Path)(nil).Field("url"), "", "must be set (A83)")
				return nil, v.Err()
			}
			return Audience{m.GetUrl()}, nil
		},
	}
}
