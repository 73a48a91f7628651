package listener

import (
	"fmt"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// configDiscovery is the member of HttpFilter.config_type for a configuration that is a
// separate resource.
const configDiscovery = 5

// extensionMessage is the resource type of such configurations (A104).
const extensionMessage = "envoy.config.core.v3.TypedExtensionConfig"

// maxExtensions is the limit of the filters of a list whose configurations are separate
// resources. Each one causes a subscription.
const maxExtensions = 100

// filterExtension returns the name of the resource that has the configuration of a filter.
// The fields of config_discovery have no meaning (A104).
func filterExtension(dc *resource.DecodeContext, name string, member int32) (string, error) { //nolint:unparam // the type of a hook
	if member != configDiscovery || !extensible(dc) {
		return "", nil
	}
	return name, nil
}

// extensible reports whether the resource type of such configurations is registered.
func extensible(dc *resource.DecodeContext) bool {
	if dc.Types == nil {
		return false
	}
	_, registered := dc.Types.Lookup(extensionMessage)
	return registered
}

// filterMessage returns the name of the message that configures a filter. An optional
// filter can have no configuration. The configuration can be a separate resource, which
// profile Envoy need not know.
func filterMessage(dc *resource.DecodeContext, extension string, config []byte, member int32, optional bool) (string, error) {
	if extension != "" || config == nil && (optional || member == configDiscovery && dc.Types.Profile() == resource.Envoy) {
		return "", nil
	}
	var v resource.Violations
	if member == configDiscovery {
		if extensible(dc) {
			return "", nil // a rule reports that the filter has no name
		}
		v.Add((*resource.Path)(nil).Field("config_discovery"), nil, "must not be set, because no "+extensionMessage+" is registered (A104)")
		return "", v.Err()
	}
	c, err := dc.OpenEncodedConfig(config)
	if err != nil {
		v.AddError((*resource.Path)(nil).Field("typed_config"), err)
		err = v.Err()
	}
	return c.Message, err
}

// running returns the filter that a message configures or overrides, if one side supports
// it.
func running(dc *resource.DecodeContext, message string, s resource.Side) (*resource.HTTPFilter, bool) {
	f, known := dc.Types.HTTPFilter(message)
	return f, known && f.Sides&s != 0
}

// filterSkipped returns the reason why a filter is skipped (A39).
func filterSkipped(dc *resource.DecodeContext, extension, message string, optional bool) (string, error) { //nolint:unparam // the type of a hook
	if !optional || extension != "" {
		return "", nil
	}
	switch _, runs := running(dc, message, dc.Side()); {
	case runs:
		return "", nil
	case message == "" && dc.Types.Profile() == resource.Envoy: // the configuration may be a separate resource
		return "", nil
	case message == "":
		return "the optional filter has no configuration", nil
	}
	return "the optional filter is not registered for a " + dc.Side().String(), nil
}

// filterConfig lets the filter decode its configuration. filterMessage reports an Any that
// cannot be opened.
func filterConfig(dc *resource.DecodeContext, message, skipped string, config []byte) (any, error) {
	if message == "" || skipped != "" {
		return nil, nil //nolint:nilnil // no configuration
	}
	f, runs := running(dc, message, dc.Side())
	var v resource.Violations
	at := (*resource.Path)(nil).Field("typed_config")
	switch {
	case !runs && dc.Types.Profile() == resource.Envoy:
		return readAny(config), nil
	case !runs:
		v.Add(at, message, "must be of a filter that is registered for a "+dc.Side().String()+", or optional (A39)")
		return nil, v.Err()
	case f.Config != message:
		v.Add(at, message, "must be the configuration of a filter; it is an override (A39)")
		return nil, v.Err()
	}
	c, err := dc.OpenEncodedConfig(config)
	var out any
	if err == nil {
		out, err = f.Parse(dc, c)
	}
	if err != nil {
		v.AddError(at, err)
	}
	return out, v.Err()
}

// checkFilters checks that every list of HTTP filters has exactly one terminal filter, at
// its end (A39).
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
	last, terminal := -1, false // the last filter that is not skipped, and whether it is terminal
	known := false              // whether the last filter is known
	extensions := 0
	for i := range list {
		if list[i].Skipped != "" {
			continue
		}
		if terminal {
			v.Add(p.Item("http_filters", last), list[last].Message, "must be the last filter (A39)")
		}
		if list[i].Extension != "" {
			extensions++
		}
		var f *resource.HTTPFilter
		f, known = running(dc, list[i].Message, s)
		known = known && f.Config == list[i].Message
		last, terminal = i, known && f.Terminal
	}
	if extensions > maxExtensions && dc.Types.Profile() != resource.Envoy {
		v.Add(p.Field("http_filters"), extensions, fmt.Sprintf("must have at most %d filters with config_discovery", maxExtensions))
	}
	switch {
	case dc.Types.Profile() == resource.Envoy:
	case last < 0:
		v.Add(p.Field("http_filters"), nil, "must have a filter that counts (A39)")
	case list[last].Extension != "":
		v.Add(p.Item("http_filters", last), list[last].Extension, "must not be the last filter, because config_discovery is for filters before the router (A104)")
	case known && !terminal:
		v.Add(p.Item("http_filters", last), list[last].Message, "must not be the last filter; a router must (A39)")
	}
}

// readAny returns the encoded Any, whose bytes have been checked.
func readAny(b []byte) *anypb.Any {
	a := new(anypb.Any)
	r := wire.Read(b)
	wire.Any(&r, a)
	return a
}
