package explain

import (
	"cmp"
	"encoding/json"
	"fmt"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/protoview"
)

// none is the index of no weighted cluster.
const none = -1

// configs are the messages with the configurations of filters. Updates have them in the form of the
// filters, which has no JSON.
type configs struct {
	manager *hcmv3.HttpConnectionManager
	routes  *routev3.RouteConfiguration
	viewer  *protoview.Viewer
}

// newConfigs reads the messages of updates, which have passed their decoders.
func newConfigs(l *listener.Update, r *route.Update, viewer *protoview.Viewer) *configs {
	c := &configs{manager: new(hcmv3.HttpConnectionManager), viewer: viewer}
	m := new(listenerv3.Listener)
	if proto.Unmarshal(l.Raw(), m) == nil {
		_ = proto.Unmarshal(m.GetApiListener().GetApiListener().GetValue(), c.manager)
	}
	if c.routes = c.manager.GetRouteConfig(); c.routes == nil {
		c.routes, _ = r.Proto() // nil has no overrides
	}
	return c
}

func (c *configs) json(a *anypb.Any) json.RawMessage {
	if a == nil {
		return nil
	}
	text, err := c.viewer.JSON(a)
	if err != nil {
		return nil
	}
	return text
}

// A level is a place of overrides, from the least to the most specific one.
type level struct {
	name      string
	overrides map[string]route.FilterOverride
	configs   map[string]*anypb.Any
}

// levels returns the overrides that apply to a route, and to one of its weighted clusters.
func (r *run) levels(i, weighted int) []level {
	h := &r.routes.VirtualHosts[r.host]
	x := &h.Routes[i]
	host, message := new(routev3.VirtualHost), new(routev3.Route)
	if list := r.configs.routes.GetVirtualHosts(); r.host < len(list) {
		host = list[r.host]
	}
	if list := host.GetRoutes(); i < len(list) {
		message = list[i]
	}
	levels := []level{
		{"the virtual host", h.Overrides, host.GetTypedPerFilterConfig()},
		{"the route", x.Overrides, message.GetTypedPerFilterConfig()},
	}
	if action, ok := x.Action.(route.WeightedClusters); ok && weighted != none {
		l := level{name: "the weighted cluster", overrides: action.Clusters[weighted].Overrides}
		for _, c := range message.GetRoute().GetWeightedClusters().GetClusters() {
			if c.GetName() == action.Clusters[weighted].Name {
				l.configs = c.GetTypedPerFilterConfig()
				break
			}
		}
		levels = append(levels, l)
	}
	return levels
}

// A listed filter is one of the Listener. An override does not run a skipped one.
type listed struct {
	Filter
	skipped bool
}

// findFilters reads the HTTP filters of the Listener, in their order. A problem is why all calls fail: one filter
// has no configuration that the channel can use (A104).
func (r *run) findFilters() (problem string, err error) {
	for n, f := range r.listener.API.Filters {
		x := listed{Filter: Filter{Name: f.Name, Message: f.Message}, skipped: f.Skipped != ""}
		if list := r.configs.manager.GetHttpFilters(); n < len(list) && list[n].GetName() == f.Name {
			x.Config = r.configs.json(list[n].GetTypedConfig())
		}
		switch {
		case f.Skipped != "":
			x.Off = f.Skipped
		case f.Disabled:
			x.Off = "the Listener disables it"
		}
		if f.Extension != "" && f.Skipped == "" {
			missing, err := r.extend(&x, f)
			if err != nil {
				return "", err
			}
			problem = cmp.Or(problem, missing)
		}
		r.list = append(r.list, x)
	}
	return problem, nil
}

// extend reads the configuration of a filter that is a resource of its own. A problem is why calls fail.
func (r *run) extend(x *listed, f listener.HTTPFilter) (problem string, err error) {
	found, u, problem, err := r.load(extension.Type().Name(), f.Extension)
	x.Extension = found
	if u == nil {
		return problem, err
	}
	e, ok := u.(*extension.Update)
	if !ok {
		return fmt.Sprintf("the TypedExtensionConfig %q has an unknown update", f.Extension), nil
	}
	if m, err := e.Proto(); err == nil {
		x.Config = r.configs.json(m.GetTypedConfig())
	}
	x.Message = e.Message
	switch {
	case e.Sides&resource.ClientSide != 0:
	case f.Optional:
		x.Off, x.skipped = "the optional filter is not registered for a client", true
	default:
		return fmt.Sprintf("the HTTP filter of the TypedExtensionConfig %q is a %s, which is not registered for a client (A39)", f.Extension, e.Message), nil
	}
	return "", nil
}

// filters returns the HTTP filters of a route's calls, in their order (A39).
func (r *run) filters(i, weighted int) []Filter {
	levels := r.levels(i, weighted)
	out := make([]Filter, 0, len(r.list))
	for _, f := range r.list {
		x := f.Filter
		for _, l := range levels {
			if o, ok := l.overrides[f.Name]; ok && !f.skipped {
				x.OverriddenBy, x.Override, x.Off = l.name, r.configs.json(l.configs[f.Name]), ""
				if o.Disabled {
					x.Off = l.name + " disables it"
				}
			}
		}
		out = append(out, x)
	}
	return out
}
