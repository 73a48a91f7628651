package listener

import (
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// configDiscovery is the member of HttpFilter.config_type for a configuration that is a
// resource of its own.
const configDiscovery = 5

// filterMessage names the message that configures a filter. The configuration may be
// absent from an optional filter and, in profile Envoy, be a resource of its own.
func filterMessage(dc *resource.DecodeContext, config *anypb.Any, member int32, optional bool) (string, error) {
	if config == nil && (optional || member == configDiscovery && dc.Types.Profile() == resource.Envoy) {
		return "", nil
	}
	c, err := dc.OpenTypedConfig(config)
	if err != nil {
		var v resource.Violations
		v.AddError((*resource.Path)(nil).Field("typed_config"), err)
		err = v.Err()
	}
	return c.Message, err
}

// running finds the filter that a message configures or overrides, if it is for one
// side.
func running(dc *resource.DecodeContext, message string, s resource.Side) (*resource.HTTPFilter, bool) {
	f, known := dc.Types.HTTPFilter(message)
	return f, known && f.Sides&s != 0
}

// filterSkipped says why a filter does not count (A39).
func filterSkipped(dc *resource.DecodeContext, message string, optional bool) (string, error) { //nolint:unparam // the type of a hook
	if !optional {
		return "", nil
	}
	switch _, runs := running(dc, message, dc.Side()); {
	case runs:
		return "", nil
	case message == "" && dc.Types.Profile() == resource.Envoy: // the configuration is a resource of its own
		return "", nil
	case message == "":
		return "it is optional, and its configuration is not there", nil
	}
	return "it is optional, and there is no such filter for a " + dc.Side().String(), nil
}

// filterConfig has the filter read its configuration. What is wrong with an Any that
// cannot be opened was said by filterMessage.
func filterConfig(dc *resource.DecodeContext, message, skipped string, config *anypb.Any) (any, error) {
	if message == "" || skipped != "" {
		return nil, nil //nolint:nilnil // there is none
	}
	f, runs := running(dc, message, dc.Side())
	var v resource.Violations
	at := (*resource.Path)(nil).Field("typed_config")
	switch {
	case !runs && dc.Types.Profile() == resource.Envoy:
		return convert.CopyAny(config), nil
	case !runs:
		v.Add(at, message, "must be of a filter that is registered for a "+dc.Side().String()+", or optional (A39)")
		return nil, v.Err()
	case f.Config != message:
		v.Add(at, message, "must be the configuration of a filter; it is an override (A39)")
		return nil, v.Err()
	}
	c, err := dc.OpenTypedConfig(config)
	var out any
	if err == nil {
		out, err = f.Parse(dc, c)
	}
	if err != nil {
		v.AddError(at, err)
	}
	return out, v.Err()
}

// checkFilters checks that the lists of HTTP filters end with what must end them, and
// only there (A39).
func checkFilters(dc *resource.DecodeContext, u *Update, v *resource.Violations) {
	var root *resource.Path
	if u.API != nil {
		p := root.Field("api_listener.api_listener")
		checkOrder(dc, &p, resource.ClientSide, u.API.Filters, v)
	}
	chain := func(p resource.Path, c *FilterChain) {
		for i := range c.Filters {
			if m := c.Filters[i].Manager; m != nil {
				filter := p.Item("filters", i)
				at := filter.Field("typed_config")
				checkOrder(dc, &at, resource.ServerSide, m.Filters, v)
			}
		}
	}
	for i := range u.FilterChains {
		chain(root.Item("filter_chains", i), &u.FilterChains[i])
	}
	if u.DefaultFilterChain != nil {
		chain(root.Field("default_filter_chain"), u.DefaultFilterChain)
	}
}

// checkOrder checks one list.
func checkOrder(dc *resource.DecodeContext, p *resource.Path, s resource.Side, list []HTTPFilter, v *resource.Violations) {
	last, terminal := -1, false // of those that count, and whether it is one that ends lists
	known := false              // or not
	for i := range list {
		if list[i].Skipped != "" {
			continue
		}
		if terminal {
			v.Add(p.Item("http_filters", last), list[last].Message, "must be the last filter (A39)")
		}
		var f *resource.HTTPFilter
		f, known = running(dc, list[i].Message, s)
		known = known && f.Config == list[i].Message
		last, terminal = i, known && f.Terminal
	}
	switch {
	case dc.Types.Profile() != resource.GRPC:
	case last < 0:
		v.Add(p.Field("http_filters"), nil, "must have a filter that counts (A39)")
	case known && !terminal:
		v.Add(p.Item("http_filters", last), list[last].Message, "must not be the last filter; a router must (A39)")
	}
}
