package inspect

import (
	"fmt"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
	"github.com/xdsforge/xdsforge/statuspage/internal/message"
)

// A FilterStep is an HTTP filter of the call, with its configuration after overrides (A39).
type FilterStep struct {
	Name string `json:"name"`
	// Message is the full name of the filter's configuration.
	Message string `json:"message,omitzero"`
	// From is the level that configures the filter for the call: "listener", "virtual host", "route",
	// "cluster NAME", or "TypedExtensionConfig NAME" for a configuration of its own resource (A104).
	From string `json:"from"`
	// Runs reports whether the call passes the filter. Reason says why not.
	Runs   bool           `json:"runs"`
	Reason string         `json:"reason,omitzero"`
	Config []message.Line `json:"config,omitempty"`
}

// An override is the overrides of one level, as decoded and as received.
type override struct {
	level   string
	decoded map[string]route.FilterOverride
	encoded map[string]*anypb.Any
}

// filters fills in the HTTP filters. Calls fail if the channel cannot use one of them.
func (e *explanation) filters(u *listener.Update, config *route.Update, h *route.VirtualHost, taken *route.Route) {
	encoded := encodedFilters(u)
	levels := overrides(config, h, taken)
	extended := make(map[string]*extension.Update)
	list, err := filters.Discover(u.API.Filters, resource.ClientSide, func(name string) (*extension.Update, error) {
		x, err := e.extension(u, name)
		extended[name] = x
		return x, err
	})
	if err != nil {
		e.fail("Calls fail: %v", err)
	}
	for _, f := range list {
		if len(e.Filters) == maxChildren {
			return
		}
		step := FilterStep{Name: f.Name, Message: f.Message, From: "listener", Runs: true, Config: lines(encoded[f.Name])}
		if f.Extension != "" {
			step.From = "TypedExtensionConfig " + f.Extension
			if x := extended[f.Extension]; x != nil {
				step.Message = x.Message
				if m, err := x.Proto(); err == nil {
					step.Config = lines(m.GetTypedConfig())
				}
			}
		}
		switch {
		case f.Skipped != "":
			step.Runs, step.Reason = false, f.Skipped
			e.Filters = append(e.Filters, step)
			continue
		case f.Disabled:
			step.Runs, step.Reason = false, "the listener disables it"
		}
		for _, l := range levels {
			o, ok := l.decoded[f.Name]
			if !ok {
				continue
			}
			step.From, step.Runs, step.Reason = l.level, !o.Disabled, ""
			if o.Disabled {
				step.Reason = "the " + l.level + " disables it"
			} else {
				step.Config = lines(l.encoded[f.Name])
			}
		}
		e.Filters = append(e.Filters, step)
	}
}

// extension returns the resource with the configuration of a filter (A104), or the reason why there is none.
func (e *explanation) extension(u *listener.Update, name string) (*extension.Update, error) {
	for ref := range u.Refs() {
		if ref.Type != extension.Type().Name() || ref.Name.String() != name {
			continue
		}
		r := e.find(ref.Type, ref.Name)
		if r == nil {
			break
		}
		if x, ok := r.Update.(*extension.Update); ok {
			return x, nil
		}
		return nil, fmt.Errorf("there is no TypedExtensionConfig %q: %s", name, e.reason(r))
	}
	return nil, fmt.Errorf("the client does not watch the TypedExtensionConfig %q", name)
}

// overrides returns the levels that can override filters, the most specific one last.
func overrides(config *route.Update, h *route.VirtualHost, taken *route.Route) []override {
	m := new(routev3.RouteConfiguration)
	if proto.Unmarshal(config.Raw(), m) != nil {
		m.Reset() // inline routes are part of the Listener
	}
	out := []override{{level: "virtual host", decoded: h.Overrides}, {level: "route", decoded: taken.Overrides}}
	for i := range config.VirtualHosts {
		if &config.VirtualHosts[i] != h || i >= len(m.GetVirtualHosts()) {
			continue
		}
		host := m.GetVirtualHosts()[i]
		out[0].encoded = host.GetTypedPerFilterConfig()
		for k := range h.Routes {
			if &h.Routes[k] == taken && k < len(host.GetRoutes()) {
				out[1].encoded = host.GetRoutes()[k].GetTypedPerFilterConfig()
				return append(out, weighted(taken, host.GetRoutes()[k])...)
			}
		}
	}
	return out
}

// weighted returns the overrides of weighted clusters, if there is only one cluster. For several, the
// route tester shows the filters before the choice of a cluster.
func weighted(taken *route.Route, m *routev3.Route) []override {
	w, ok := taken.Action.(route.WeightedClusters)
	if !ok || len(w.Clusters) != 1 {
		return nil
	}
	o := override{level: "cluster " + w.Clusters[0].Name, decoded: w.Clusters[0].Overrides}
	for _, c := range m.GetRoute().GetWeightedClusters().GetClusters() {
		if c.GetName() == w.Clusters[0].Name {
			o.encoded = c.GetTypedPerFilterConfig()
		}
	}
	return []override{o}
}

// encodedFilters returns the configurations of the HTTP filters of a Listener, by filter name.
func encodedFilters(u resource.Update) map[string]*anypb.Any {
	l, m := new(listenerv3.Listener), new(hcmv3.HttpConnectionManager)
	if proto.Unmarshal(u.Raw(), l) != nil || l.GetApiListener().GetApiListener().UnmarshalTo(m) != nil {
		return nil
	}
	out := make(map[string]*anypb.Any, len(m.GetHttpFilters()))
	for _, f := range m.GetHttpFilters() {
		out[f.GetName()] = f.GetTypedConfig()
	}
	return out
}

// lines renders the message in an Any.
func lines(a *anypb.Any) []message.Line {
	if a == nil {
		return nil
	}
	return message.Lines(string(a.MessageName()), a.GetValue())
}
