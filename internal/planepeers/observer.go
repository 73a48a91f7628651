package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// An observer watches the resources of an Envoy: all Listeners and clusters, and the routes and endpoints that they name.
type observer struct {
	client *xdsforge.Client

	mu     sync.Mutex
	synced map[string]bool   // the collections whose members are known
	state  map[string]string // of each resource by "type name": "", "ok", or the error
	values map[string]resource.Update
}

func newObserver(c *xdsforge.Client) *observer {
	return &observer{client: c, synced: make(map[string]bool), state: make(map[string]string), values: make(map[string]resource.Update)}
}

// watch watches until ctx ends.
func (o *observer) watch(ctx context.Context) (wait func()) {
	var all sync.WaitGroup
	all.Go(func() {
		for ev := range listener.WatchCollection(ctx, o.client, resource.Wildcard) {
			follow(o, "Listener", ev)
		}
	})
	all.Go(func() {
		for ev := range cluster.WatchCollection(ctx, o.client, resource.Wildcard) {
			follow(o, "Cluster", ev)
		}
	})
	return all.Wait
}

// follow records an event of a collection, and subscribes to the resources that the member names.
func follow[U resource.Update](o *observer, kind string, ev resource.MemberEvent[U]) {
	o.mu.Lock()
	o.synced[kind] = o.synced[kind] || ev.Synced
	o.mu.Unlock()
	if ev.Name.String() != "" {
		record(o, kind, ev.Name.String(), ev.Event)
	} else if ev.Err != nil {
		o.set(kind+" *", ev.Err.Error(), nil)
	}
}

// record records an event of a resource.
func record[U resource.Update](o *observer, kind, name string, ev resource.Event[U]) {
	key := kind + " " + name
	switch {
	case errors.Is(ev.Err, xdsforge.ErrRemoved):
		o.forget(key)
		return
	case ev.Err != nil:
		o.set(key, ev.Err.Error(), nil)
		return
	case ev.Ambient != nil:
		o.set(key, ev.Ambient.Error(), ev.Update)
	default:
		o.set(key, "ok", ev.Update)
	}
	for ref := range ev.Update.Refs() {
		o.subscribe(ref)
	}
}

func (o *observer) set(key, state string, u resource.Update) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.state[key] = state
	o.values[key] = u
}

func (o *observer) forget(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.state, key)
	delete(o.values, key)
}

// subscribe subscribes to routes and endpoints. The others are members of a collection.
func (o *observer) subscribe(ref resource.Ref) {
	name := ref.Name.String()
	kind := ref.Type[strings.LastIndexByte(ref.Type, '.')+1:]
	o.mu.Lock()
	_, known := o.state[kind+" "+name]
	if !known && (kind == "RouteConfiguration" || kind == "ClusterLoadAssignment") {
		o.state[kind+" "+name] = ""
	}
	o.mu.Unlock()
	if known {
		return
	}
	var err error
	switch kind {
	case "RouteConfiguration":
		_, err = route.Subscribe(o.client, name, func(ev route.Event) { record(o, kind, name, ev) })
	case "ClusterLoadAssignment":
		_, err = endpoint.Subscribe(o.client, name, func(ev endpoint.Event) { record(o, kind, name, ev) })
	}
	if err != nil {
		o.set(kind+" "+name, err.Error(), nil)
	}
}

// complete reports whether the observer knows the state of everything.
func (o *observer) complete() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.synced["Listener"] || !o.synced["Cluster"] {
		return false
	}
	for _, s := range o.state {
		if s == "" {
			return false
		}
	}
	return true
}

// report returns the number of resources by kind, and the problems.
func (o *observer) report() (seen string, problems []string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	counts := make(map[string]int)
	for key, s := range o.state {
		kind, _, _ := strings.Cut(key, " ")
		counts[kind]++
		if s != "ok" {
			problems = append(problems, fmt.Sprintf("%s: %q", key, s))
		}
	}
	slices.Sort(problems)
	for i, kind := range []string{"Listener", "RouteConfiguration", "Cluster", "ClusterLoadAssignment"} {
		if i > 0 {
			seen += ", "
		}
		seen += fmt.Sprintf("%d %s", counts[kind], kind)
	}
	return seen, problems
}

// shows reports whether the JSON of a usable resource, by "type name", has a part.
func (o *observer) shows(key, part string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.state[key] != "ok" {
		return false
	}
	text, err := json.Marshal(o.values[key])
	return err == nil && strings.Contains(string(text), part)
}
