package xdsconfig

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// The limits that a control plane can exceed.
var (
	errTooMany       = errors.New("xdsconfig: routes lead to more clusters than the limit allows")
	errTooManyLeaves = errors.New("xdsconfig: aggregate clusters have more leaves in total than the limit allows")
)

// errPending says that a needed resource is not known yet.
var errPending = errors.New("xdsconfig: not known yet")

// told has the last delivered configuration.
type told struct {
	config *Config
	err    error
	made   map[string]*made
}

// A walk visits all resources that the target depends on, once. It holds the Watcher's lock.
type walk struct {
	*Watcher
	config Config
	made   map[string]*made
	below  map[*clusterNode]*below // by aggregate
	met    int                     // the number of clusters
	leaves int                     // the number of leaves of all aggregates
	err    error                   // a limit was exceeded
}

// walk visits everything, and starts and ends watches as needed. news is true if everything needed
// is known and the configuration differs from the last one.
func (w *Watcher) walk() (c *Config, err error, news bool) { //nolint:revive // the error is a part of the news
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil, false
	}
	w.turn++
	x := &walk{Watcher: w, made: make(map[string]*made, len(w.told.made)), below: make(map[*clusterNode]*below)}
	err = x.root()
	complete := !errors.Is(err, errPending) && x.targets()
	if w.closing.Load() {
		return nil, nil, false
	}
	w.prune(complete)
	if !complete {
		return nil, nil, false
	}
	if err = errors.Join(err, x.err); err != nil {
		x.config.Listener, x.config.Route, x.config.VirtualHost = nil, nil, nil
	}
	next := told{&x.config, err, x.made}
	if next.same(w.told) {
		return nil, nil, false
	}
	x.config.Clusters = make(map[string]Cluster, len(x.made))
	for name, m := range x.made {
		x.config.Clusters[name] = m.Cluster
	}
	w.told = next
	return next.config, next.err, true
}

// root finds the virtual host. The error is the reason why there is none.
func (w *walk) root() error {
	l := meet(w.Watcher, w.nodes.listeners, listener.Type(), w.options.Listener)
	switch {
	case !l.known:
		return errPending
	case l.err != nil:
		return l.err
	case l.update.API == nil:
		return w.invalid(l.update, listener.Type(), "api_listener = missing; must be set for a client (A27)")
	}
	w.config.Listener = l.update
	var ambient error
	switch r := l.update.API.Routes.(type) {
	case listener.Inline:
		w.config.Route, _ = r.Config.(*route.Update)
	case listener.RDS:
		n := meet(w.Watcher, w.nodes.routes, route.Type(), r.Name)
		switch {
		case !n.known:
			return errPending
		case n.err != nil:
			return n.err
		}
		w.config.Route, ambient = n.update, n.ambient
	}
	w.roots.set(&w.version, ambient, l.ambient)
	if w.config.Route == nil {
		return w.invalid(l.update, listener.Type(), "routes must be a RouteConfiguration")
	}
	if w.config.VirtualHost = w.config.Route.VirtualHost(w.options.Authority); w.config.VirtualHost == nil {
		return w.invalid(w.config.Route, route.Type(), fmt.Sprintf("virtual_hosts: none is for the authority %q", w.options.Authority))
	}
	return nil
}

// invalid returns the error of a resource that this target cannot use.
func (w *walk) invalid(u resource.Update, t resource.Type, rule string) error {
	return &resource.Error{
		Kind: resource.ErrInvalid, Type: t.Name(), Name: u.Name(), Server: u.Server().URI(),
		NodeID: w.options.NodeID, Err: errors.New(rule),
	}
}

// targets finds the clusters and plugins that calls can be sent to, and reports whether all of them
// are known. Held clusters come first: calls in flight need them even if routes lead to more
// clusters than the limit allows. Each turn uses the same order, so that the limit always cuts off
// the same clusters.
func (w *walk) targets() (complete bool) {
	held := w.held()
	complete = held.complete
	names := held.names
	if h := w.config.VirtualHost; h != nil {
		routed := make(map[string]bool)
		known := true
		for i := 0; i < len(h.Routes) && !w.over(); i++ {
			known = w.routed(&h.Routes[i], routed) && known
		}
		if w.err == nil {
			complete = complete && known
			maps.Copy(names, routed)
		}
	}
	if w.err != nil {
		w.keepHeld(names)
	}
	w.config.Targets = slices.Sorted(maps.Keys(names))
	return complete
}

// held has the known clusters that calls in flight need.
type held struct {
	names    map[string]bool
	complete bool
}

func (w *walk) held() held {
	h := held{make(map[string]bool, len(w.holds)), true}
	for _, name := range slices.Sorted(maps.Keys(w.holds)) {
		if strings.HasPrefix(name, pluginPrefix) {
			w.heldPlugin(name)
			continue
		}
		// The configuration does not wait for a new name, unless it is the first.
		switch _, known := w.told.made[name]; {
		case w.cluster(name):
			h.names[name] = true
		case known || w.told.config == nil:
			h.complete = false
		}
	}
	return h
}

// keepHeld drops the entries that calls in flight do not need.
func (w *walk) keepHeld(names map[string]bool) {
	kept := make(map[string]*made, len(names))
	for name := range names {
		m := w.made[name]
		if m == nil {
			delete(names, name) // it was beyond the limit
			continue
		}
		kept[name] = m
		for _, leaf := range m.Leaves {
			kept[leaf] = w.made[leaf]
		}
	}
	w.made = kept
}

// routed adds the targets of a route, and reports whether all of them are known.
func (w *walk) routed(r *route.Route, names map[string]bool) (complete bool) {
	if r.Ignored != "" {
		return true
	}
	complete = true
	switch a := r.Action.(type) {
	case route.Cluster:
		names[a.Name] = true
		complete = w.cluster(a.Name)
	case route.WeightedClusters:
		for i := 0; i < len(a.Clusters) && !w.over(); i++ {
			names[a.Clusters[i].Name] = true
			complete = w.cluster(a.Clusters[i].Name) && complete
		}
	case route.Specifier:
		w.addPlugin(PluginTarget(a.Name), w.config.Route.Specifiers[a.Name])
	}
	return complete
}

// over reports whether the walk must end, because a limit is exceeded or the Watcher is being
// closed.
func (w *walk) over() bool { return w.err != nil || w.closing.Load() }

func (w *walk) addPlugin(target string, c resource.LBConfig) {
	if w.config.Plugins == nil {
		w.config.Plugins = make(map[string]resource.LBConfig)
	}
	if _, there := w.config.Plugins[target]; !there {
		w.config.Plugins[target] = c
	}
}

// heldPlugin keeps the last policy of a held plugin that no route names any longer.
func (w *walk) heldPlugin(target string) {
	if w.told.config == nil {
		return
	}
	if c, ok := w.told.config.Plugins[target]; ok {
		w.addPlugin(target, c)
	}
}

func discovery(u *cluster.Update) cluster.Discovery {
	if u == nil {
		return nil
	}
	return u.Discovery
}

// same reports whether both would be delivered alike.
func (t told) same(o told) bool {
	if t.config == nil || o.config == nil {
		return false
	}
	a, b := t.config, o.config
	return a.Listener == b.Listener && a.Route == b.Route && a.VirtualHost == b.VirtualHost &&
		slices.Equal(a.Targets, b.Targets) && maps.Equal(a.Plugins, b.Plugins) &&
		maps.Equal(t.made, o.made) && text(t.err) == text(o.err)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
