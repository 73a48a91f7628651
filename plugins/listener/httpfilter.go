package listener

import (
	"slices"

	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/resource/convert"
)

// HTTPFilters are what calls go through.
type HTTPFilters []HTTPFilter

// An HTTPFilter is one of the things that calls go through (A39).
type HTTPFilter struct {
	// Name is unique in the list. Routes use it to override the configuration.
	Name string
	// Message is the full name of the message that configures the filter.
	Message string
	// Config is what the filter made of that. In profile Envoy it may be the
	// *anypb.Any, as it came, of a filter that nobody registered.
	Config any
	// Skipped says why the filter does not count: it is optional, and unknown on this
	// side. Empty: it counts.
	Skipped string
}

// Equal reports whether both are the same filters with the same configurations.
func (f HTTPFilters) Equal(o HTTPFilters) bool {
	return slices.EqualFunc(f, o, func(a, b HTTPFilter) bool {
		return a.Name == b.Name && a.Message == b.Message && a.Skipped == b.Skipped && convert.EqualValues(a.Config, b.Config)
	})
}

// httpFilters checks a manager, and reads its filters.
func httpFilters(dc *resource.DecodeContext, m *hcmv3.HttpConnectionManager) (HTTPFilters, error) {
	var v resource.Violations
	var root *resource.Path
	var names convert.Seen[string]
	out := make(HTTPFilters, 0, len(m.GetHttpFilters()))
	last, lastFilter := -1, (*resource.HTTPFilter)(nil)
	for i, h := range m.GetHttpFilters() {
		p := root.Item("http_filters", i)
		if h.GetName() == "" {
			v.Add(p.Field("name"), "", "must be set (A39)")
		} else if names.Before(h.GetName()) {
			v.Add(p.Field("name"), h.GetName(), "must be unique (A39)")
		}
		read, f := readFilter(dc, &p, h, &v)
		out = append(out, read)
		if read.Skipped != "" {
			continue
		}
		if lastFilter != nil && lastFilter.Terminal {
			p = root.Item("http_filters", last)
			v.Add(p, out[last].Message, "must be the last filter (A39)")
		}
		last, lastFilter = i, f
	}
	if dc.Types.Profile() != resource.GRPC {
		resource.ValidateMessage(resource.Path{}, m, &v)
	} else {
		validateGRPC(m, &v)
		switch {
		case last < 0:
			v.Add(root.Field("http_filters"), nil, "must have a filter that counts (A39)")
		case lastFilter != nil && !lastFilter.Terminal:
			v.Add(root.Item("http_filters", last), out[last].Message, "must not be the last filter; a router must (A39)")
		}
	}
	return out, v.Err()
}

// readFilter reads one filter. It returns nil for one that nobody registered, be it
// wrong or not.
func readFilter(dc *resource.DecodeContext, p *resource.Path, m *hcmv3.HttpFilter, v *resource.Violations) (HTTPFilter, *resource.HTTPFilter) {
	out := HTTPFilter{Name: m.GetName()}
	at := p.Field("typed_config")
	c, err := resource.OpenTypedConfig(m.GetTypedConfig())
	if err != nil {
		v.AddError(at, err)
		return out, nil
	}
	out.Message = c.Message
	f, known := dc.Types.HTTPFilter(c.Message)
	switch {
	case known && f.Sides&dc.Side() != 0:
	case m.GetIsOptional():
		out.Skipped = "it is optional, and there is no such filter for a " + dc.Side().String()
		return out, nil
	case dc.Types.Profile() == resource.Envoy:
		out.Config = m.GetTypedConfig()
		return out, nil
	default:
		v.Add(at, c.Message, "must be of a filter that is registered for a "+dc.Side().String()+", or optional (A39)")
		return out, nil
	}
	if f.Config != c.Message {
		v.Add(at, c.Message, "must be the configuration of a filter; it is an override (A39)")
		return out, nil
	}
	if out.Config, err = f.Parse(dc, c); err != nil {
		v.AddError(at, err)
	}
	return out, f
}
