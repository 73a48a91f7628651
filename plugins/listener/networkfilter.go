package listener

import (
	"slices"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/resource/convert"
)

// NetworkFilters are what connections go through.
type NetworkFilters []NetworkFilter

// A NetworkFilter is one of the things that connections go through (A36).
type NetworkFilter struct {
	// Name is unique in the chain.
	Name string
	// Manager is what the filter is; nil, which only profile Envoy accepts: something
	// else.
	Manager *Manager
	// Other is the configuration of something else, as it came.
	Other *anypb.Any
}

// Equal reports whether both are the same filters with the same configurations.
func (f NetworkFilters) Equal(o NetworkFilters) bool {
	return slices.EqualFunc(f, o, func(a, b NetworkFilter) bool {
		return a.Name == b.Name && proto.Equal(a.Other, b.Other) &&
			convert.EqualPointers(a.Manager, b.Manager, func(a, b Manager) bool { return a.Equal(b) })
	})
}

// Manager is how the calls of the chain's connections are treated. It is nil only in
// profile Envoy.
func (c *FilterChain) Manager() *Manager {
	if n := len(c.Filters); n > 0 {
		return c.Filters[n-1].Manager
	}
	return nil
}

const (
	managerMessage = "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
	routesMessage  = "envoy.config.route.v3.RouteConfiguration"
)

// networkFilters reads the filters of a chain. gRPC has but one kind, and wants
// exactly one of it (A36).
func networkFilters(dc *resource.DecodeContext, list []*listenerv3.Filter) (NetworkFilters, error) {
	var v resource.Violations
	var root *resource.Path
	var names convert.Seen[string]
	gRPC := dc.Types.Profile() == resource.GRPC
	if len(list) == 0 && gRPC {
		v.Add(resource.Path{}, nil, "must have one filter, a "+managerMessage+" (A36)")
	}
	out := make(NetworkFilters, 0, len(list))
	for i, f := range list {
		p := root.Item("", i)
		if names.Before(f.GetName()) && gRPC {
			v.Add(p.Field("name"), f.GetName(), "must be unique (A36)")
		}
		at := p.Field("typed_config")
		c, err := resource.OpenTypedConfig(f.GetTypedConfig())
		read := NetworkFilter{Name: f.GetName()}
		switch {
		case err != nil && gRPC:
			v.AddError(at, err)
		case c.Message == managerMessage:
			if i < len(list)-1 && gRPC {
				v.Add(at, c.Message, "must be in the last filter (A36)")
			}
			read.Manager = readManager(dc, &at, c, &v)
		case gRPC:
			v.Add(at, c.Message, "must be a "+managerMessage+" (A36)")
		default:
			read.Other = f.GetTypedConfig()
		}
		out = append(out, read)
	}
	return out, v.Err()
}

// readManager reads the manager of a server. To what it refers is told by refChains.
func readManager(dc *resource.DecodeContext, p *resource.Path, c resource.TypedConfig, v *resource.Violations) *Manager {
	m := new(hcmv3.HttpConnectionManager)
	if err := c.Unmarshal(m); err != nil {
		v.AddError(*p, err)
		return nil
	}
	var refs resource.Meta // not the listener's
	manager := decodeManager(dc.At(resource.ServerSide), &refs, p, m, v)
	return &manager
}

// refChains notes the resources to which filter chains refer: routes, or whatever
// the routes within them refer to.
func refChains(dc *resource.DecodeContext, u *Update, v *resource.Violations) {
	refer := func(c *FilterChain) {
		for _, f := range c.Filters {
			if f.Manager == nil {
				continue
			}
			switch r := f.Manager.Routes.(type) {
			case RDS:
				dc.Ref(&u.meta, v, resource.Path{}, routesMessage, &r.Name)
			case Inline:
				for ref := range r.Config.Refs() {
					name := ref.Name.String()
					dc.Ref(&u.meta, v, resource.Path{}, ref.Type, &name)
				}
			}
		}
	}
	for i := range u.FilterChains {
		refer(&u.FilterChains[i])
	}
	if u.DefaultFilterChain != nil {
		refer(u.DefaultFilterChain)
	}
}
