package adsmodel

import (
	"maps"
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// ask sends a request in state of the world.
func (c *Client) ask(y *Type, problem string) {
	c.T.Helper()
	r := &discoveryv3.DiscoveryRequest{
		TypeUrl: y.URL, ResourceNames: slices.Sorted(maps.Keys(y.Names)), ResponseNonce: y.nonce, VersionInfo: y.version,
	}
	if problem != "" {
		r.ErrorDetail = &rpcstatus.Status{Code: 3, Message: problem}
	}
	if !y.asked {
		if len(y.Names) == 0 {
			return // it would ask for everything
		}
		r.Node = node()
		y.returns = y.version != ""
	}
	if c.implicit(y) && !y.explicit {
		r.ResourceNames = nil
	} else {
		y.explicit = true
	}
	y.asked = true
	c.send(r)
}

func (c *Client) takeWhole(r *discoveryv3.DiscoveryResponse, problem string) {
	c.T.Helper()
	y := c.Of(r.GetTypeUrl())
	y.answers++
	y.nonce = r.GetNonce()
	if problem != "" {
		c.ask(y, problem)
	}
	y.version = r.GetVersionInfo() // the client uses the rejected resources, too
	if problem == "" {
		c.ask(y, problem)
	}
	before := maps.Clone(y.Has)
	received := make(map[string]bool)
	for _, a := range r.GetResources() {
		if name, h := c.named(a); h != nil && y.wants(name) {
			received[name] = true
			c.put(y, name, h)
		} else if held := y.Has[name]; h == nil && held != nil {
			received[name] = true
			held.Fresh = time.Now()
		}
	}
	failed := make(map[string]bool)
	for _, e := range r.GetResourceErrors() {
		y.fail(e)
		failed[e.GetResourceName().GetName()] = true
	}
	if c.Complete(y.URL) {
		c.sweep(y, before, received, failed)
	}
	y.forget(false)
}

// sweep drops the resources that a response of a complete type lacks.
func (c *Client) sweep(y *Type, before map[string]*Held, received, failed map[string]bool) {
	c.T.Helper()
	for name := range y.Errors {
		if !failed[name] && !y.denied[name] {
			delete(y.Errors, name)
		}
	}
	for name, h := range before {
		if received[name] || failed[name] || y.denied[name] || y.denied[Collection(name)] && !y.Names[name] {
			continue
		}
		delete(y.Has, name)
		if y.wants(name) {
			c.told(y, name, h)
		}
	}
}

// named returns the name and the content of a resource, or no content for a heartbeat.
func (c *Client) named(a *anypb.Any) (name string, h *Held) {
	c.T.Helper()
	if a.GetTypeUrl() != wrapperURL {
		body := string(a.GetValue())
		return nameIn(body), &Held{Body: body}
	}
	r := new(discoveryv3.Resource)
	if err := proto.Unmarshal(a.GetValue(), r); err != nil {
		c.T.Fatal(err)
	}
	if r.GetResource() == nil {
		return r.GetName(), nil
	}
	return r.GetName(), &Held{Body: string(r.GetResource().GetValue()), Aliases: r.GetAliases(), TTL: r.GetTtl().AsDuration()}
}
