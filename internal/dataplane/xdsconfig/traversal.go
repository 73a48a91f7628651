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

// A delivery is a delivered configuration.
type delivery struct {
	config  *Config
	err     error
	entries map[string]*entry
}

// A traversal visits all resources that the target depends on, once. It holds the Watcher's lock.
type traversal struct {
	*Watcher
	config    Config
	entries   map[string]*entry
	summaries map[*clusterWatch]*summary // by aggregate
	clusters  int                        // the number of clusters
	leaves    int                        // the number of leaves of all aggregates
	lists     int                        // the number of list collections
	err       error                      // a limit was exceeded
}

// traverse visits everything, and starts and ends watches as needed. It reports whether everything
// needed is known and the configuration differs from the last one.
func (w *Watcher) traverse() (c *Config, err error, changed bool) { //nolint:revive // the error is delivered
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil, nil, false
	}
	w.traversals++
	x := &traversal{Watcher: w, entries: make(map[string]*entry, len(w.delivered.entries)), summaries: make(map[*clusterWatch]*summary)}
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
		x.config.Listener, x.config.Route, x.config.VirtualHost, x.config.discovered = nil, nil, nil, discovered{}
	}
	next := delivery{&x.config, err, x.entries}
	if next.same(w.delivered) {
		return nil, nil, false
	}
	x.config.Clusters = make(map[string]Cluster, len(x.entries))
	for name, e := range x.entries {
		x.config.Clusters[name] = e.Cluster
	}
	w.delivered = next
	return next.config, next.err, true
}

// root finds the virtual host. The error is the reason why there is none.
func (w *traversal) root() error {
	l := watch(w.Watcher, w.watches.listeners, listener.Type(), w.options.Listener)
	switch {
	case !l.known:
		return errPending
	case l.err != nil:
		return l.err
	case l.update.API == nil:
		return w.invalid(l.update, listener.Type(), "api_listener = missing; must be set for a client (A27)")
	}
	w.config.Listener = l.update
	// Both start their watches before the traversal waits for either.
	ambient, err := w.routes(l.update)
	more, unusable := w.discover(l.update)
	if err == nil {
		err = unusable
	}
	if err != nil {
		w.config.Route = nil // no call can use it
		return err
	}
	w.roots.set(&w.version, append(more, ambient, l.ambient)...)
	if w.options.AllHosts {
		return nil
	}
	if w.config.VirtualHost = w.config.Route.VirtualHost(w.options.Authority); w.config.VirtualHost == nil {
		err := w.invalid(w.config.Route, route.Type(), fmt.Sprintf("virtual_hosts: none is for the authority %q", w.options.Authority))
		w.config.Route = nil // no call can use it
		return err
	}
	return nil
}

// routes finds the routes of the Listener. The error is the reason why there are none, or errPending.
func (w *traversal) routes(l *listener.Update) (ambient, err error) {
	switch r := l.API.Routes.(type) {
	case listener.Inline:
		w.config.Route, _ = r.Config.(*route.Update)
	case listener.RDS:
		n := watch(w.Watcher, w.watches.routes, route.Type(), r.Name)
		switch {
		case !n.known:
			return nil, errPending
		case n.err != nil:
			return nil, n.err
		}
		w.config.Route, ambient = n.update, n.ambient
	}
	if w.config.Route == nil {
		return nil, w.invalid(l, listener.Type(), "routes must be a RouteConfiguration")
	}
	return ambient, nil
}

// invalid returns the error of a resource that this target cannot use.
func (w *traversal) invalid(u resource.Update, t resource.Type, rule string) error {
	return &resource.Error{
		Kind: resource.ErrInvalid, Type: t.Name(), Name: u.Name(), Server: u.Server().URI(),
		NodeID: w.options.NodeID, Err: errors.New(rule),
	}
}

// targets finds the clusters and plugins that calls can be sent to, and reports whether all of them
// are known. Clusters with subscriptions come first: calls in flight need them even if routes lead
// to more clusters than the limit allows. Each traversal uses the same order, so that the limit
// always cuts off the same clusters.
func (w *traversal) targets() (complete bool) {
	names, complete := w.subscriptions()
	if w.config.Route != nil {
		routed := make(map[string]bool)
		known := true
		for h := range w.config.VirtualHosts() {
			for i := 0; i < len(h.Routes) && !w.over(); i++ {
				known = w.routed(&h.Routes[i], routed) && known
			}
		}
		if w.err == nil {
			complete = complete && known
			maps.Copy(names, routed)
		}
	}
	if w.err != nil {
		w.keep(names)
	}
	w.config.Targets = slices.Sorted(maps.Keys(names))
	return complete
}

// subscriptions returns the known clusters that calls in flight need.
func (w *traversal) subscriptions() (names map[string]bool, complete bool) {
	names, complete = make(map[string]bool, len(w.subscribed)), true
	for _, name := range slices.Sorted(maps.Keys(w.subscribed)) {
		if strings.HasPrefix(name, pluginPrefix) {
			// Keep the last policy of a plugin that no route names any longer.
			if w.delivered.config != nil {
				if c, ok := w.delivered.config.Plugins[name]; ok {
					w.addPlugin(name, c)
				}
			}
			continue
		}
		// The configuration does not wait for a new name, unless it is the first.
		switch _, known := w.delivered.entries[name]; {
		case w.cluster(name):
			names[name] = true
		case known || w.delivered.config == nil:
			complete = false
		}
	}
	return names, complete
}

// keep drops the entries of all clusters except those with the given names.
func (w *traversal) keep(names map[string]bool) {
	kept := make(map[string]*entry, len(names))
	for name := range names {
		e := w.entries[name]
		if e == nil {
			delete(names, name) // it was beyond the limit
			continue
		}
		kept[name] = e
		for _, leaf := range e.Leaves {
			kept[leaf] = w.entries[leaf]
		}
	}
	w.entries = kept
}

// routed adds the targets of a route, and reports whether all of them are known.
func (w *traversal) routed(r *route.Route, names map[string]bool) (complete bool) {
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

// over reports whether the traversal must end, because a limit is exceeded or the Watcher is being
// closed.
func (w *traversal) over() bool { return w.err != nil || w.closing.Load() }

func (w *traversal) addPlugin(target string, c resource.LBConfig) {
	if w.config.Plugins == nil {
		w.config.Plugins = make(map[string]resource.LBConfig)
	}
	if _, ok := w.config.Plugins[target]; !ok {
		w.config.Plugins[target] = c
	}
}

func discovery(u *cluster.Update) cluster.Discovery {
	if u == nil {
		return nil
	}
	return u.Discovery
}

// same reports whether both would be delivered alike.
func (t delivery) same(o delivery) bool {
	if t.config == nil || o.config == nil {
		return false
	}
	a, b := t.config, o.config
	return a.SameRouting(b) && slices.Equal(a.Targets, b.Targets) && maps.Equal(a.Plugins, b.Plugins) &&
		maps.Equal(t.entries, o.entries) && message(t.err) == message(o.err)
}

// message returns the text of an error, or "" for nil.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
