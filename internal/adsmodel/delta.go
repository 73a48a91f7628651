package adsmodel

import (
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
)

// changeDelta sends changes of subscriptions. The first request for a type has the versions that the client has.
func (c *Client) changeDelta(y *Type, subscribe, unsubscribe []string) {
	c.T.Helper()
	r := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: y.URL, ResourceNamesSubscribe: subscribe, ResourceNamesUnsubscribe: unsubscribe}
	if !y.asked {
		r.Node = node()
		r.InitialResourceVersions = make(map[string]string)
		for name, h := range y.Has {
			r.InitialResourceVersions[name] = h.Version
		}
		if c.implicit(y) && len(unsubscribe) == 0 {
			r.ResourceNamesSubscribe = nil
		}
	}
	y.asked = true
	c.send(r)
}

// implicit reports whether the client subscribes to the wildcard alone, and does not name it.
func (c *Client) implicit(y *Type) bool {
	return c.Habit == Implicit && len(y.Names) == 1 && y.Names[Wildcard]
}

func (c *Client) takeDelta(r *discoveryv3.DeltaDiscoveryResponse, problem string) {
	c.T.Helper()
	y := c.Of(r.GetTypeUrl())
	y.answers++
	answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: y.URL, ResponseNonce: r.GetNonce()}
	if problem != "" {
		answer.ErrorDetail = &rpcstatus.Status{Code: 3, Message: problem}
	}
	c.send(answer)
	for _, res := range r.GetResources() {
		c.addDelta(y, res)
	}
	for _, e := range r.GetResourceErrors() {
		y.fail(e)
	}
	for _, name := range r.GetRemovedResources() {
		c.remove(y, name)
	}
	y.forget(true)
}

// addDelta takes a resource or a heartbeat.
func (c *Client) addDelta(y *Type, res *discoveryv3.Resource) {
	c.T.Helper()
	name := res.GetName()
	wanted := y.wants(name) || slices.ContainsFunc(res.GetAliases(), func(a string) bool { return y.Names[a] })
	for _, a := range append(res.GetAliases(), name) {
		delete(y.Gone, a)
	}
	if res.GetResource() == nil {
		if h := y.Has[name]; h != nil {
			h.Fresh = time.Now()
		}
		return
	}
	if wanted {
		c.put(y, name, &Held{
			Body: string(res.GetResource().GetValue()), Version: res.GetVersion(), Aliases: res.GetAliases(), TTL: res.GetTtl().AsDuration(),
		})
	}
}

// remove takes the removal of a name, an alias or a collection.
func (c *Client) remove(y *Type, name string) {
	c.T.Helper()
	held := y.Has[name]
	delete(y.Has, name)
	delete(y.Errors, name)
	y.Gone[name] = true
	y.emptied[Collection(name)] = true
	y.leave(name, nil)
	if y.wants(name) {
		c.told(y, name, held)
	}
}

// leave notes that an alias does not belong to other resources any longer.
func (y *Type) leave(alias string, except *Held) {
	for _, h := range y.Has {
		if h != except {
			h.Aliases = slices.DeleteFunc(slices.Clone(h.Aliases), func(a string) bool { return a == alias })
		}
	}
}

// put takes a resource.
func (c *Client) put(y *Type, name string, h *Held) {
	c.T.Helper()
	old := y.Has[name]
	h.Fresh, h.here = time.Now(), true
	y.Has[name] = h
	for _, n := range slices.Concat(h.Aliases, []string{name}) {
		delete(y.Errors, n)
		delete(y.denied, n)
		y.leave(n, h)
	}
	delete(y.warming, name)
	if cluster := target(h.Body); cluster != "" && c.Ordered != nil && c.Ordered() && c.Of(ClusterURL).expects(cluster) {
		c.T.Errorf("%s receives %q before the cluster", c.Name, h.Body)
	}
	if y.URL == ClusterURL && c.Habit == Envoy && old != nil && old.Body != h.Body {
		c.warm(name)
	}
}

// expects reports whether the client must have a resource that exists: it has subscribed before the last rest.
func (y *Type) expects(name string) bool {
	subscribed := func(n string) bool { return y.rest[n] && !y.denied[n] }
	return (subscribed(name) || subscribed(Collection(name))) && y.Has[name] == nil
}

// warm asks for the endpoints of a changed cluster again, as Envoy does: it does not use the new cluster before.
func (c *Client) warm(cluster string) {
	c.T.Helper()
	y := c.Of(EndpointURL)
	if !y.Names[cluster] || c.stream == nil {
		return
	}
	y.warming[cluster] = true
	if c.Delta {
		c.changeDelta(y, []string{cluster}, nil)
	} else {
		c.ask(y, "")
	}
}

// told notes that the client is told that a subscribed name is gone. Nothing that it has may refer to it.
func (c *Client) told(y *Type, name string, held *Held) {
	c.T.Helper()
	c.Told(c, y.URL, name)
	if y.URL != ClusterURL || held == nil || !held.here {
		return
	}
	for route, h := range c.Of(RouteURL).Has { // in state of the world, a client does not hear that a route is gone
		if h.here && target(h.Body) == name && (c.Delta || c.Exists(RouteURL, route)) {
			c.T.Errorf("%s is told that cluster %s is gone, and has the route %q", c.Name, name, h.Body)
		}
	}
}
