package inspect

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Call is the call of which the route is asked.
type Call struct {
	// Client is the ID of the client of the channel.
	Client string `json:"client"`
	// Method is the path, such as "/package.Service/Method".
	Method string `json:"method"`
	// Headers are the headers, by name in lower case.
	Headers map[string][]string `json:"headers,omitempty"`
}

// A Route explains where a call goes, and why.
type Route struct {
	Call Call `json:"call"`
	// Target and Authority are those of the channel. Authority selects the virtual host.
	Target    string `json:"target"`
	Authority string `json:"authority"`
	// Result is the outcome in a sentence. Level is Broken if the call fails.
	Result string `json:"result"`
	Level  Level  `json:"level"`

	Listener    *Node         `json:"listener,omitzero"`
	Routes      *Node         `json:"routes,omitzero"` // nil if the Listener contains the routes
	VirtualHost string        `json:"virtualHost,omitzero"`
	Domains     []string      `json:"domains,omitempty"`
	Hosts       int           `json:"virtualHosts"`
	Steps       []RouteStep   `json:"steps,omitempty"`
	PassedOver  int           `json:"passedOver"` // routes before the last step that are not in Steps
	NotReached  int           `json:"notReached"`
	Filters     []FilterStep  `json:"filters,omitempty"`
	Timeout     time.Duration `json:"timeout,omitzero"` // in ns
	Retry       string        `json:"retry,omitzero"`
	Clusters    []ClusterStep `json:"clusters,omitempty"`
}

// A RouteStep is a route that was compared with the call.
type RouteStep struct {
	Number int    `json:"number"` // from 0
	Name   string `json:"name,omitzero"`
	Match  string `json:"match"`
	// Taken means that all calls that reach the route take it. PerMillion is the share if only some do.
	Taken      bool   `json:"taken"`
	PerMillion uint32 `json:"perMillion,omitzero"`
	// Reason says why the call passes the route over.
	Reason string `json:"reason,omitzero"`
}

// maxSteps is the limit of passed-over routes in the explanation.
const maxSteps = 200

// errNoListener is the reason without a Listener for channels.
const errNoListener = "The client watches no Listener of a channel; the route tester explains calls of gRPC channels"

// Route explains the route of a call.
func (s *Source) Route(ctx context.Context, c Client, call Call) (Route, error) {
	snapshot, err := s.snapshot(ctx, c)
	if err != nil {
		return Route{}, err
	}
	targets, err := s.Targets(ctx)
	if err != nil {
		return Route{}, err
	}
	e := &explanation{
		nodes: &chainBuilder{client: c.ID, index: make(map[resource.Ref]*status.Resource), seen: make(map[resource.Ref]bool)},
		Route: Route{Call: call, Target: c.Scope, Authority: defaultAuthority(c.Scope), Level: Healthy},
	}
	for i := range snapshot.Resources {
		e.nodes.index[refOf(&snapshot.Resources[i])] = &snapshot.Resources[i]
	}
	for i := range targets {
		if targets[i].Client == c.ID {
			e.target, e.Authority = &targets[i], targets[i].Authority
		}
	}
	e.config = c.env.Bootstrap()
	e.explain(snapshot.Resources)
	return e.Route, nil
}

// defaultAuthority returns the data-plane authority of a channel without options: the path of its
// target.
func defaultAuthority(target string) string { return target[strings.LastIndexByte(target, '/')+1:] }

// An explanation is a Route in progress.
type explanation struct {
	Route
	nodes  *chainBuilder
	config *bootstrap.Config
	target *Target // nil if the channel is idle
}

// fail sets the outcome of a call that fails.
func (e *explanation) fail(format string, args ...any) {
	e.Result, e.Level = fmt.Sprintf(format, args...), Broken
}

func (e *explanation) find(typ string, name xdstp.Name) *status.Resource {
	return e.nodes.index[resource.Ref{Type: typ, Name: name}]
}

func (e *explanation) explain(resources []status.Resource) {
	u := e.listener(resources)
	if u == nil {
		return
	}
	config := e.routes(u)
	if config == nil {
		return
	}
	e.Hosts = len(config.VirtualHosts)
	h := config.VirtualHost(e.Authority)
	if h == nil {
		e.fail("Calls fail: no virtual host is for the authority %q", e.Authority)
		return
	}
	e.VirtualHost, e.Domains = h.Name, h.Domains[:min(len(h.Domains), maxChildren)]
	taken := e.match(h)
	if taken == nil {
		e.fail("The call fails: no route of virtual host %q takes it", h.Name)
		return
	}
	e.settings(u.API, h, taken)
	e.clusters(taken)
	e.filters(u, config, h, taken)
}

// listener returns the Listener of the channel, or nil with the outcome.
func (e *explanation) listener(resources []status.Resource) *listener.Update {
	var r *status.Resource
	if name, err := e.config.ClientListenerName(e.Target); err == nil {
		r = e.find(listener.Type().Name(), name)
	}
	for i := range resources {
		if r != nil {
			break
		}
		if o := &resources[i]; o.Type == listener.Type().Name() && !o.Collection {
			u, ok := o.Update.(*listener.Update)
			if !ok || u.API != nil {
				r = o
			}
		}
	}
	if r == nil {
		e.fail("%s", errNoListener)
		return nil
	}
	e.Listener = e.nodes.node(refOf(r), maxDepth)
	u, ok := r.Update.(*listener.Update)
	switch {
	case !ok:
		e.fail("Calls fail: there is no Listener %q: %s", r.Name, e.reason(r))
		return nil
	case u.API == nil:
		e.fail("Calls fail: Listener %q is for servers", r.Name)
		return nil
	}
	return u
}

// reason returns why a resource has no update.
func (*explanation) reason(r *status.Resource) string {
	if text, _ := Reason(r); text != "" {
		return text
	}
	return "the control plane has not answered yet"
}

// routes returns the routes of a Listener, or nil with the outcome.
func (e *explanation) routes(u *listener.Update) *route.Update {
	switch source := u.API.Routes.(type) {
	case listener.Inline:
		config, _ := source.Config.(*route.Update)
		return config
	case listener.RDS:
		for ref := range u.Refs() {
			if ref.Type != route.Type().Name() {
				continue
			}
			e.Routes = e.nodes.node(ref, maxDepth)
			r := e.find(ref.Type, ref.Name)
			if r == nil {
				break
			}
			if config, ok := r.Update.(*route.Update); ok {
				return config
			}
			e.fail("Calls fail: there is no RouteConfiguration %q: %s", source.Name, e.reason(r))
			return nil
		}
		e.fail("Calls fail: the client does not watch the RouteConfiguration %q", source.Name)
	default:
		e.fail("Calls fail: the Listener has no routes")
	}
	return nil
}

// match compares the call with the routes in order. It returns the route that calls take in the end, or
// nil.
func (e *explanation) match(h *route.VirtualHost) *route.Route {
	for i := range h.Routes {
		r := &h.Routes[i]
		step := RouteStep{Number: i, Name: r.Name, Match: r.Conditions()}
		step.Reason = r.Mismatch(e.Call.Method, route.Metadata(e.Call.Headers))
		switch {
		case step.Reason != "":
		case r.PerMillion != nil && *r.PerMillion == 0:
			step.Reason = "its share of the calls is 0"
		case r.PerMillion != nil && *r.PerMillion < 1_000_000:
			step.PerMillion = *r.PerMillion
			step.Reason = fmt.Sprintf("takes %s of the calls; the others go on", share(uint64(*r.PerMillion), 1_000_000))
		default:
			step.Taken = true
		}
		if step.Taken || step.PerMillion > 0 || len(e.Steps) < maxSteps {
			if len(e.Steps) < 2*maxSteps {
				e.Steps = append(e.Steps, step)
			}
		} else {
			e.PassedOver++
		}
		if step.Taken {
			e.NotReached = len(h.Routes) - i - 1
			return r
		}
	}
	return nil
}
