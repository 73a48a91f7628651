package composite

import (
	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	matchingv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/matching/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
)

// A Config is the configuration of the filter, or an override, which replaces it.
type Config struct {
	// Matcher chooses the index of an action for a call. Nil lets every call pass. A gRPC call without a match fails (A103). An
	// HTTP request without a match passes, as in Envoy (ADR 318).
	Matcher *matchtree.Tree[int]
	// Actions are the actions of the matcher.
	Actions []Action
	// Unread reports that there is a matcher that was not decoded: the profile is Envoy, or only the deprecated field has a
	// matcher, which A103 does not support. The filter cannot run then. Calls and requests must fail, because the matcher may
	// choose filters that deny them.
	Unread bool

	source proto.Message
}

// Equal reports whether both configure the same, for one sender.
func (c Config) Equal(o Config) bool { return proto.Equal(c.source, o.source) }

// An Action is a chain of filters for the calls that the matcher chooses it for.
type Action struct {
	// Place is the path of the action. It identifies the action across updates.
	Place string
	// Filters run in this order. Without filters, calls pass.
	Filters []Nested
	// PerMillion is the number of calls per million that the filters run for. Default 1,000,000.
	PerMillion uint32
}

// A Nested is a filter of an action.
type Nested struct {
	// Name is the name of the filter, and Message the message type of its configuration.
	Name, Message string
	// Config is the result of the filter's Parse.
	Config any
}

// composite is the message that an ExtensionWithMatcher must extend.
const composite = "envoy.extensions.filters.http.composite.v3.Composite"

// Filter returns the filter.
func Filter() *resource.HTTPFilter {
	return &resource.HTTPFilter{
		Config:   "envoy.extensions.common.matching.v3.ExtensionWithMatcher",
		Override: "envoy.extensions.common.matching.v3.ExtensionWithMatcherPerRoute",
		Sides:    resource.ClientSide | resource.ServerSide,
		Parse: func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(matchingv3.ExtensionWithMatcher)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			var v resource.Violations
			at := (*resource.Path)(nil).Field("extension_config.typed_config")
			extended, err := dc.OpenTypedConfig(m.GetExtensionConfig().GetTypedConfig())
			switch {
			case err != nil:
				v.AddError(at, err)
			case extended.Message != composite:
				v.Add(at, extended.Message, "must be a "+composite+" (A103)")
			}
			out, err := read(dc, m, m.GetXdsMatcher(), &v)
			if m.GetXdsMatcher() == nil && m.GetMatcher() != nil { //nolint:staticcheck // deprecated, but Envoy runs it
				out.Unread = true
			}
			return out, err
		},
		// A RouteConfiguration is decoded for any side. A call fails if its filters do not run on its side (A103).
		ParseOverride: func(dc *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(matchingv3.ExtensionWithMatcherPerRoute)
			if err := c.Unmarshal(m); err != nil {
				return nil, err
			}
			if dc == nil {
				dc = new(resource.DecodeContext)
			}
			return read(dc.At(resource.ClientSide|resource.ServerSide), m, m.GetXdsMatcher(), new(resource.Violations))
		},
	}
}

// read decodes the matcher of a configuration or an override. In profile Envoy, the matcher may use anything that Envoy
// supports. It is not decoded then.
func read(dc *resource.DecodeContext, source proto.Message, m *matcherv3.Matcher, v *resource.Violations) (Config, error) {
	if dc == nil {
		dc = new(resource.DecodeContext)
	}
	if dc.Types.Profile() == resource.Envoy {
		var v resource.Violations
		v.AddMessage(resource.Path{}, source)
		return Config{source: source, Unread: m != nil}, v.Err()
	}
	out := Config{source: source}
	if m != nil {
		r := &reader{dc: dc, v: v, config: &out}
		out.Matcher = matchtree.Read(dc, (*resource.Path)(nil).Field("xds_matcher"), m, v, r.action)
	}
	if err := v.Err(); err != nil {
		return Config{}, err
	}
	return out, nil
}
