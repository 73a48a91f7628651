package route

import (
	"maps"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/convert"
)

// A FilterOverride overrides the listener's configuration of an HTTP filter for some calls
// (A39).
type FilterOverride struct {
	// Disabled switches the filter off for these calls. Message and Config are then empty.
	// An override that is not disabled switches the filter on, even if the listener
	// disables it.
	Disabled bool
	// Message is the full name of the configuration's message.
	Message string
	// Config is the configuration as the filter parsed it. In profile Envoy, it is the
	// received *anypb.Any if no filter is registered for it.
	Config any
}

// overrides decodes the overrides of filters, by filter name.
func overrides(dc *resource.DecodeContext, m map[string]*anypb.Any) (map[string]FilterOverride, error) {
	if len(m) == 0 {
		return nil, nil
	}
	var v resource.Violations
	out := make(map[string]FilterOverride, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		o, ok, err := override(dc, m[name])
		if err != nil {
			v.AddError((*resource.Path)(nil).Field("["+name+"]"), err)
		}
		if ok {
			out[name] = o
		}
	}
	return out, v.Err()
}

// configOverrides decodes the overrides of a RouteConfiguration, which only profile HTTP reads.
func configOverrides(dc *resource.DecodeContext, m map[string]*anypb.Any) (map[string]FilterOverride, error) {
	if dc.Types.Profile() != resource.HTTP {
		return nil, nil
	}
	return overrides(dc, m)
}

const filterConfig = "envoy.config.route.v3.FilterConfig"

// override decodes one configuration, which may be inside a FilterConfig. It returns ok =
// false if the configuration is optional and no filter is registered for it.
func override(dc *resource.DecodeContext, a *anypb.Any) (o FilterOverride, ok bool, err error) {
	c, err := dc.OpenTypedConfig(a)
	if err != nil {
		return o, false, err
	}
	optional := false
	if c.Message == filterConfig {
		m := new(routev3.FilterConfig)
		if err := c.Unmarshal(m); err != nil {
			return o, false, err
		}
		if m.GetDisabled() { // any configuration is ignored
			return FilterOverride{Disabled: true}, true, nil
		}
		optional, a = m.GetIsOptional(), m.GetConfig()
		if c, err = dc.OpenTypedConfig(a); err != nil {
			return o, false, err
		}
	}
	f, known := dc.Types.HTTPFilter(c.Message)
	var v resource.Violations
	switch {
	case !known && optional:
		return o, false, nil
	case !known && dc.Types.Profile() == resource.Envoy:
		return FilterOverride{Message: c.Message, Config: convert.CopyAny(a)}, true, nil
	case !known:
		v.Add(resource.Path{}, c.Message, "must be of a filter that is registered (A39)")
		return o, false, v.Err()
	case f.Override != c.Message:
		v.Add(resource.Path{}, c.Message, "must be an override; it configures a filter (A39)")
		return o, false, v.Err()
	}
	config, err := f.ParseOverride(dc, c)
	return FilterOverride{Message: c.Message, Config: config}, err == nil, err
}

// specifiers decodes the cluster specifier plugins. A plugin that is optional and unknown
// gets an LB policy without a name.
func specifiers(dc *resource.DecodeContext, list []*routev3.ClusterSpecifierPlugin) (map[string]resource.LBConfig, error) {
	var v resource.Violations
	var out map[string]resource.LBConfig
	for i, m := range list {
		p := (*resource.Path)(nil).Item("", i)
		name := m.GetExtension().GetName()
		if _, twice := out[name]; twice {
			v.Add(p.Field("extension.name"), name, "must be unique")
		}
		c, err := dc.OpenTypedConfig(m.GetExtension().GetTypedConfig())
		if err != nil {
			v.AddError(p.Field("extension.typed_config"), err)
			continue
		}
		var config resource.LBConfig
		s, known := dc.Types.ClusterSpecifier(c.Message)
		switch {
		case known:
			if config, err = s.Parse(dc, c); err != nil {
				v.AddError(p.Field("extension.typed_config"), err)
			}
		case !m.GetIsOptional() && dc.Types.Profile() != resource.Envoy:
			v.Add(p.Field("extension.typed_config"), c.Message, "must be of a cluster specifier plugin that is registered, or optional")
		}
		if out == nil {
			out = make(map[string]resource.LBConfig, len(list))
		}
		out[name] = config
	}
	return out, v.Err()
}

// finishSpecifiers checks that the plugins of all routes exist. It marks routes to optional
// unknown plugins as ignored. In profile HTTP, their requests fail.
func finishSpecifiers(dc *resource.DecodeContext, u *Update, v *resource.Violations) {
	for i := range u.VirtualHosts {
		host := (*resource.Path)(nil).Item("virtual_hosts", i)
		for j := range u.VirtualHosts[i].Routes {
			r := &u.VirtualHosts[i].Routes[j]
			s, ok := r.Action.(Specifier)
			if !ok {
				continue
			}
			switch plugin, there := u.Specifiers[s.Name]; {
			case !there:
				p := host.Item("routes", j)
				v.Add(p.Field("route.cluster_specifier_plugin"), s.Name, "must be the name of one of cluster_specifier_plugins")
			case plugin.Name == "" && dc.Types.Profile() == resource.HTTP:
				r.Action = OtherCluster{}
			case plugin.Name == "":
				r.Ignored = "its optional cluster specifier plugin is not registered"
			}
		}
	}
}
