package cors

import (
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// A Policy says which origins may read responses. It is the override of a virtual host or a route. Without one, the
// filter has no effect.
type Policy struct {
	// Origins match the origins that are allowed.
	Origins []matcher.String
	// Methods, Headers, Expose and MaxAge are the values of the headers Access-Control-Allow-Methods,
	// Access-Control-Allow-Headers, Access-Control-Expose-Headers and Access-Control-Max-Age. Empty: no such header.
	Methods, Headers, Expose, MaxAge string
	// Credentials allows credentials.
	Credentials bool
	// PrivateNetwork allows requests from public to private networks.
	PrivateNetwork bool
	// Enabled is the share of requests to which the policy applies, per million. Default 1000000.
	Enabled uint32
	// Respond makes the filter respond to preflight requests of other origins. Otherwise the handler does.
	Respond bool
}

// all is the share of all requests.
const all = 1_000_000

// Filter returns the CORS filter. Its overrides are policies. It ignores shadow_enabled, which only counts requests.
func Filter() *resource.HTTPFilter {
	return &resource.HTTPFilter{
		Config:   "envoy.extensions.filters.http.cors.v3.Cors",
		Override: "envoy.extensions.filters.http.cors.v3.CorsPolicy",
		Sides:    resource.ServerSide,
		Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			return struct{}{}, c.Unmarshal(new(corsv3.Cors))
		},
		ParseOverride: parse,
	}
}

func parse(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
	m := new(corsv3.CorsPolicy)
	if err := c.Unmarshal(m); err != nil {
		return nil, err
	}
	var v resource.Violations
	var root *resource.Path
	out := Policy{
		Methods: m.GetAllowMethods(), Headers: m.GetAllowHeaders(), Expose: m.GetExposeHeaders(), MaxAge: m.GetMaxAge(),
		Credentials: m.GetAllowCredentials().GetValue(), PrivateNetwork: m.GetAllowPrivateNetworkAccess().GetValue(), Enabled: all,
	}
	if f := m.GetForwardNotMatchingPreflights(); f != nil {
		out.Respond = !f.GetValue()
	}
	if f := m.GetFilterEnabled(); f != nil {
		out.Enabled = convert.PerMillion(root.Field("filter_enabled.default_value"), f.GetDefaultValue(), &v)
	}
	for i, o := range m.GetAllowOriginStringMatch() {
		parts := matcher.PartsOfString(o)
		s, err := parts.Matcher(dc)
		if err != nil {
			v.AddError(root.Item("allow_origin_string_match", i), err)
			continue
		}
		out.Origins = append(out.Origins, s)
	}
	return out, v.Err()
}
