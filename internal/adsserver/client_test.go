package adsserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A naive is a simple ADS client, for one stream after the other.
type naive struct {
	t        testing.TB
	core     *Core
	delta    bool
	stream   *Stream
	types    map[string]*naiveType
	log      []string
	measured int                          // bytes of the last response
	older    func(name, had, body string) // called with each resource that replaces another one, if it is not nil
}

// A naiveType is what a client knows of one type.
type naiveType struct {
	url     string
	names   map[string]bool   // subscribed
	has     map[string]string // bodies
	version map[string]string // of has
	errors  map[string]string
	gone    map[string]bool // told that they do not exist
	emptied map[string]bool // collections of which a member was removed since the subscription
	again   map[string]bool // may be sent again with the version that the client has
	aliases map[string][]string
	nonce   string
	whole   string          // version of the state of the world
	asked   bool            // on this stream
	seen    map[string]bool // received on this stream
	naive   *naive
}

func newNaive(t testing.TB, c *Core, delta bool) *naive {
	n := &naive{t: t, core: c, delta: delta, types: make(map[string]*naiveType)}
	n.connect()
	return n
}

func (n *naive) of(url string) *naiveType {
	y := n.types[url]
	if y == nil {
		y = &naiveType{
			url: url, names: make(map[string]bool), has: make(map[string]string), version: make(map[string]string),
			errors: make(map[string]string), gone: make(map[string]bool), emptied: make(map[string]bool), again: make(map[string]bool), aliases: make(map[string][]string),
			seen: make(map[string]bool), naive: n,
		}
		n.types[url] = y
	}
	return y
}

// connect opens a stream, and asks for all names again.
func (n *naive) connect() {
	n.t.Helper()
	if n.stream != nil {
		n.stream.Close(context.Canceled)
	}
	var err error
	if n.stream, err = n.core.Open(n.delta); err != nil {
		n.t.Fatal(err)
	}
	n.log = append(n.log, "connect")
	for _, url := range slices.Sorted(maps.Keys(n.types)) {
		y := n.types[url]
		y.nonce, y.asked = "", false
		clear(y.gone)
		clear(y.emptied)
		clear(y.errors)
		clear(y.seen)
		if len(y.names) > 0 {
			n.change(url, slices.Sorted(maps.Keys(y.names)), nil)
		}
	}
}

// change subscribes and unsubscribes.
func (n *naive) change(url string, subscribe, unsubscribe []string) {
	n.t.Helper()
	y := n.of(url)
	for _, name := range subscribe {
		y.names[name] = true
		delete(y.gone, name)
		delete(y.emptied, name)
	}
	for _, name := range unsubscribe {
		delete(y.names, name)
	}
	y.forget(n.delta)
	if !n.delta {
		n.ask(y, "")
		return
	}
	r := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: url, ResourceNamesSubscribe: subscribe, ResourceNamesUnsubscribe: unsubscribe}
	for _, name := range subscribe {
		y.resent(name)
	}
	for _, name := range unsubscribe {
		y.resent(name) // the state of a name that a collection covers
	}
	if !y.asked {
		r.Node = &corev3.Node{Id: "naive"}
		r.InitialResourceVersions = maps.Clone(y.version)
		clear(y.again)
	}
	y.asked = true
	n.send(r)
}

// resent notes that the server may send the resources of a name without a change.
func (y *naiveType) resent(name string) {
	y.again[name] = true
	for has, aliases := range y.aliases {
		if slices.Contains(aliases, name) {
			y.again[has] = true
		}
	}
	for has := range y.has {
		if collectionName(has) == name {
			y.again[has] = true
		}
	}
}

// forget drops what is not subscribed any longer.
func (y *naiveType) forget(delta bool) {
	for name := range y.has {
		if !y.wants(name, delta) {
			delete(y.has, name)
			delete(y.version, name)
			delete(y.aliases, name)
		}
	}
	for name := range y.errors {
		if !y.wants(name, delta) {
			delete(y.errors, name)
		}
	}
}

func (y *naiveType) wants(name string, delta bool) bool {
	return y.names[name] || y.names[collectionName(name)] || delta && slices.ContainsFunc(y.aliases[name], func(a string) bool { return y.names[a] })
}

// ask sends a request in state of the world.
func (n *naive) ask(y *naiveType, problem string) {
	r := &discoveryv3.DiscoveryRequest{
		TypeUrl: y.url, ResourceNames: slices.Sorted(maps.Keys(y.names)), ResponseNonce: y.nonce, VersionInfo: y.whole,
	}
	if problem != "" {
		r.ErrorDetail = &rpcstatus.Status{Code: 3, Message: problem}
	}
	y.asked = true
	n.send(r)
}

func (n *naive) send(m proto.Message) {
	n.t.Helper()
	n.log = append(n.log, fmt.Sprintf("-> %v", m))
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m) // sorts initial versions
	if err == nil {
		err = n.stream.Request(raw)
	}
	if err != nil {
		n.t.Fatalf("request %v: %v", m, err)
	}
}

// next reads a response if there is one, and answers it.
func (n *naive) next(problem string) bool {
	n.t.Helper()
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	pieces, err := n.stream.Next(ended)
	if err != nil {
		return false
	}
	raw := slices.Concat(pieces...)
	n.measured = len(raw)
	if n.delta {
		r := new(discoveryv3.DeltaDiscoveryResponse)
		if err := proto.Unmarshal(raw, r); err != nil {
			n.t.Fatal(err)
		}
		n.log = append(n.log, fmt.Sprintf("<- %v", r))
		n.takeDelta(r, problem)
		return true
	}
	r := new(discoveryv3.DiscoveryResponse)
	if err := proto.Unmarshal(raw, r); err != nil {
		n.t.Fatal(err)
	}
	n.log = append(n.log, fmt.Sprintf("<- %v", r))
	n.takeWhole(r, problem)
	return true
}

func (n *naive) takeDelta(r *discoveryv3.DeltaDiscoveryResponse, problem string) {
	n.t.Helper()
	y := n.of(r.GetTypeUrl())
	for _, res := range r.GetResources() {
		name := res.GetName()
		covered := y.again[name] || len(res.GetAliases()) > 0 // each alias that is subscribed to is answered
		if y.version[name] == res.GetVersion() && res.GetResource() != nil && !covered {
			n.t.Errorf("%q is sent again in version %s", name, res.GetVersion())
		}
		y.aliases[name] = res.GetAliases()
		if res.GetResource() != nil && y.wants(name, true) {
			y.put(name, string(res.GetResource().GetValue()))
			y.version[name] = res.GetVersion()
		}
		for _, a := range append(res.GetAliases(), name) {
			delete(y.gone, a)
			delete(y.again, a)
		}
	}
	for _, name := range r.GetRemovedResources() {
		delete(y.has, name)
		delete(y.version, name)
		delete(y.errors, name)
		delete(y.again, name)
		y.gone[name] = true
		y.emptied[collectionName(name)] = true
		for has, aliases := range y.aliases {
			y.aliases[has] = slices.DeleteFunc(slices.Clone(aliases), func(a string) bool { return a == name })
		}
	}
	for _, e := range r.GetResourceErrors() {
		y.fail(e)
	}
	y.forget(true)
	answer := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: y.url, ResponseNonce: r.GetNonce()}
	if problem != "" {
		answer.ErrorDetail = &rpcstatus.Status{Code: 3, Message: problem}
	}
	n.send(answer)
}

func (y *naiveType) put(name, body string) {
	if had, ok := y.has[name]; ok && y.naive.older != nil {
		y.naive.older(name, had, body)
	}
	y.has[name] = body
	y.seen[name] = true
	delete(y.errors, name)
}

func (y *naiveType) fail(e *discoveryv3.ResourceError) {
	name := e.GetResourceName().GetName()
	y.errors[name] = e.GetErrorDetail().GetMessage()
	delete(y.has, name)
	delete(y.version, name)
	delete(y.gone, name)
	delete(y.again, name)
}

func (n *naive) takeWhole(r *discoveryv3.DiscoveryResponse, problem string) {
	n.t.Helper()
	y := n.of(r.GetTypeUrl())
	var before map[string]string
	if t, _ := AnyType(y.url); t.Complete {
		before = maps.Clone(y.has)
		clear(y.has)
		clear(y.errors)
	}
	for _, a := range r.GetResources() {
		name, body := n.named(a)
		if had, ok := before[name]; ok && n.older != nil {
			n.older(name, had, body)
		}
		if y.wants(name, false) {
			y.put(name, body)
		}
	}
	for _, e := range r.GetResourceErrors() {
		y.fail(e)
	}
	y.nonce = r.GetNonce()
	if problem == "" {
		y.whole = r.GetVersionInfo()
	}
	n.ask(y, problem)
}

// named returns the name and the body of a resource in state of the world. Bodies of the model begin
// with the name.
func (n *naive) named(a *anypb.Any) (name, body string) {
	n.t.Helper()
	if a.GetTypeUrl() == wrapperURL {
		r := new(discoveryv3.Resource)
		if err := proto.Unmarshal(a.GetValue(), r); err != nil {
			n.t.Fatal(err)
		}
		return r.GetName(), string(r.GetResource().GetValue())
	}
	body = string(a.GetValue())
	name, _, _ = strings.Cut(body, "=")
	return name, body
}

func key(url, name string) source.Key { return source.Key{Type: url, Name: name} }
