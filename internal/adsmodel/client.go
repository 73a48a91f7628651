package adsmodel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// A Habit is the way in which a program uses the protocol.
type Habit uint8

const (
	// Plain changes several subscriptions with one request.
	Plain Habit = iota
	// Envoy asks for the endpoints of a changed cluster again, with the same names.
	Envoy
	// OneByOne is grpc-go, which begins and ends each subscription by a request of its own.
	OneByOne
	// Implicit is a proxy of Istio, whose first request for clusters has no names and the versions that the client has.
	Implicit
)

// String returns the name of the habit.
func (h Habit) String() string { return [...]string{"plain", "envoy", "one by one", "implicit"}[h] }

// A Client is a client of ADS, for one stream after the other. Set its exported fields before the first call.
type Client struct {
	T        testing.TB
	Name     string
	Delta    bool
	Habit    Habit
	Open     func() (Stream, error)
	Complete func(url string) bool           // whether state-of-the-world responses have all resources of a type
	Told     func(c *Client, url, n string)  // called when the client is told that a subscribed name is gone
	Refused  func(err error) (expected bool) // called when the server ends the stream
	Ordered  func() bool                     // whether routes must not arrive before their clusters; nil: never
	Exists   func(url, name string) bool     // whether a resource has existed since the last rest

	stream Stream
	types  map[string]*Type
	log    []line
}

// A Type is the state of one type at a client.
type Type struct {
	URL      string
	Names    map[string]bool   // subscribed
	Has      map[string]*Held  // by name
	Errors   map[string]string // in the place of resources, by name
	Gone     map[string]bool   // delta: names that do not exist
	emptied  map[string]bool   // delta: collections of which a member was removed since the subscription
	denied   map[string]bool   // names in Errors without permission
	warming  map[string]bool   // endpoints that the client waits for, because their cluster has changed
	rest     map[string]bool   // subscribed at the last rest on this stream, if nothing has changed since
	nonce    string
	version  string // state of the world
	asked    bool   // on this stream
	explicit bool   // state of the world: a request on this stream had names
	returns  bool   // state of the world: the first request on this stream had a version
	answers  int    // on this stream
}

// A Held is a resource that a client has.
type Held struct {
	Body, Version string
	Aliases       []string
	TTL           time.Duration
	Fresh         time.Time // of the last response with it, or of its last heartbeat
	here          bool      // received on this stream
}

// Of returns the state of a type.
func (c *Client) Of(url string) *Type {
	y := c.types[url]
	if y == nil {
		y = &Type{
			URL: url, Names: make(map[string]bool), Has: make(map[string]*Held), Errors: make(map[string]string), Gone: make(map[string]bool),
			emptied: make(map[string]bool), denied: make(map[string]bool), warming: make(map[string]bool),
		}
		if c.types == nil {
			c.types = make(map[string]*Type)
		}
		c.types[url] = y
	}
	return y
}

// Types returns the types that the client has ever asked for, in a fixed order.
func (c *Client) Types() (list []*Type) {
	for _, url := range slices.Sorted(maps.Keys(c.types)) {
		list = append(list, c.types[url])
	}
	return list
}

// Patient reports whether the first response of the stream may wait for the answers to all names, because it would delete
// the resources that it lacks.
func (y *Type) Patient() bool { return y.returns && y.answers == 0 }

// Connect opens a stream, and asks for all names again.
func (c *Client) Connect() {
	c.T.Helper()
	c.Disconnect(context.Canceled)
	c.note("connect")
	st, err := c.Open()
	if err != nil {
		c.T.Fatalf("%s: %v", c.Name, err)
	}
	c.stream = st
	for _, y := range c.Types() {
		y.nonce, y.asked, y.explicit, y.returns, y.answers, y.rest = "", false, false, false, 0, nil
		clear(y.Gone)
		clear(y.emptied)
		clear(y.Errors)
		clear(y.denied)
		clear(y.warming)
		for _, h := range y.Has {
			h.here = false
		}
	}
	for _, y := range c.Types() {
		if len(y.Names) > 0 && c.stream == st {
			c.change(y, slices.Sorted(maps.Keys(y.Names)), nil)
		}
	}
}

// Disconnect ends the stream.
func (c *Client) Disconnect(err error) {
	if c.stream != nil {
		st := c.stream
		c.stream = nil
		st.Close(err)
	}
}

// Connected reports whether the client has a stream.
func (c *Client) Connected() bool { return c.stream != nil }

// Subscribe subscribes to names of a type, or asks for them again.
func (c *Client) Subscribe(url string, names ...string) {
	c.T.Helper()
	c.each(names, func(list []string) { c.change(c.Of(url), list, nil) })
}

// Unsubscribe ends subscriptions.
func (c *Client) Unsubscribe(url string, names ...string) {
	c.T.Helper()
	c.each(names, func(list []string) { c.change(c.Of(url), nil, list) })
}

func (c *Client) each(names []string, f func(list []string)) {
	if c.Habit != OneByOne {
		f(names)
		return
	}
	for _, n := range names {
		f([]string{n})
	}
}

// change subscribes and unsubscribes.
func (c *Client) change(y *Type, subscribe, unsubscribe []string) {
	c.T.Helper()
	if len(unsubscribe) > 0 && c.stream != nil && !c.Delta && y.asked && !y.explicit {
		return // of the wildcard, which a request without names still asks for
	}
	for _, n := range subscribe {
		y.Names[n] = true
		delete(y.Gone, n)
		delete(y.emptied, n)
	}
	for _, n := range unsubscribe {
		delete(y.Names, n)
		delete(y.Errors, n) // the server tells the state of a name that a collection covers
		delete(y.denied, n)
	}
	y.rest = nil
	y.forget(c.Delta)
	switch {
	case c.stream == nil:
	case !c.Delta:
		c.ask(y, "")
	default:
		c.changeDelta(y, subscribe, unsubscribe)
	}
}

// forget drops resources and errors that do not belong to a subscription any longer.
func (y *Type) forget(delta bool) {
	for name, h := range y.Has {
		if !y.wants(name) && (!delta || !slices.ContainsFunc(h.Aliases, func(a string) bool { return y.Names[a] })) {
			delete(y.Has, name)
		}
	}
	for name := range y.Errors {
		if !y.wants(name) {
			delete(y.Errors, name)
			delete(y.denied, name)
		}
	}
	for name := range y.warming {
		if !y.Names[name] {
			delete(y.warming, name)
		}
	}
}

// wants reports whether the client subscribes to a name or its collection.
func (y *Type) wants(name string) bool { return y.Names[name] || y.Names[Collection(name)] }

// send sends a request. The stream may end by it.
func (c *Client) send(m proto.Message) {
	c.T.Helper()
	c.note(m)
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		c.T.Fatal(err)
	}
	if err := c.stream.Request(raw); err != nil {
		c.lost(err)
	}
}

// lost notes that the server has ended the stream.
func (c *Client) lost(err error) {
	c.T.Helper()
	c.note(fmt.Sprintf("the stream has ended: %v", err))
	c.Disconnect(err)
	if c.Refused == nil || !c.Refused(err) {
		c.T.Errorf("%s: the server ends the stream: %v", c.Name, err)
	}
}

// Read reads a response if there is one, and answers it: with a NACK if there is a problem.
func (c *Client) Read(problem string) bool {
	c.T.Helper()
	if c.stream == nil {
		return false
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	pieces, err := c.stream.Next(ended)
	switch {
	case errors.Is(err, context.Canceled):
		return false
	case err != nil:
		c.lost(err)
		return false
	}
	raw := slices.Concat(pieces...)
	if c.Delta {
		r := new(discoveryv3.DeltaDiscoveryResponse)
		if err := proto.Unmarshal(raw, r); err != nil {
			c.T.Fatal(err)
		}
		c.note(r)
		c.takeDelta(r, problem)
		return true
	}
	r := new(discoveryv3.DiscoveryResponse)
	if err := proto.Unmarshal(raw, r); err != nil {
		c.T.Fatal(err)
	}
	c.note(r)
	c.takeWhole(r, problem)
	return true
}

// Drain reads all responses.
func (c *Client) Drain() {
	c.T.Helper()
	for n := 0; c.Read(""); n++ {
		if n > 1000 {
			c.T.Fatalf("%s receives responses without end", c.Name)
		}
	}
}

func (c *Client) note(x any) { c.log = append(c.log, line{time.Now(), x}) }

// A line is a message or a note at a time.
type line struct {
	at      time.Time
	content any
}

// Note adds a line to the log.
func (c *Client) Note(format string, args ...any) { c.note(fmt.Sprintf(format, args...)) }

// Log returns all messages and notes.
func (c *Client) Log() (lines []string) {
	for _, l := range c.log {
		text := l.at.Format("04:05.000 ")
		switch x := l.content.(type) {
		case *discoveryv3.DiscoveryRequest, *discoveryv3.DeltaDiscoveryRequest:
			text += fmt.Sprintf("-> %v", x)
		case proto.Message:
			text += fmt.Sprintf("<- %v", x)
		default:
			text += fmt.Sprint(x)
		}
		lines = append(lines, text)
	}
	return lines
}

// fail notes the error in the place of a resource or a collection.
func (y *Type) fail(e *discoveryv3.ResourceError) {
	name := e.GetResourceName().GetName()
	y.Errors[name] = e.GetErrorDetail().GetMessage()
	delete(y.denied, name)
	delete(y.Has, name)
	delete(y.Gone, name)
	if codes.Code(e.GetErrorDetail().GetCode()) == codes.PermissionDenied { //nolint:gosec // a small number
		y.denied[name] = true
		for has, h := range y.Has {
			if (Collection(has) == name || slices.Contains(h.Aliases, name)) && !y.Names[has] {
				delete(y.Has, has) // there is no permission for the members either, which have the same authority
			}
		}
	}
}

func node() *corev3.Node { return &corev3.Node{Id: "model"} }
