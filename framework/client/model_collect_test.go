package client_test

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// A modelCollector keeps the members of a collection that its watch reported. The model checks
// them at rest only.
type modelCollector struct {
	key    modelKey   // the name is that of the collection
	list   *modelList // nil: a wildcard or a glob collection
	exact  bool       // the collector had the members of a valid list at rest
	number int
	o      resource.CollectionObservation
	done   chan struct{} // closed after the last event

	mu      sync.Mutex
	members map[string]resource.State
	err     error // the last error of the whole collection
	synced  bool
	wrong   string // an event that must not happen
}

// run receives events until the collector stops.
func (c *modelCollector) run() {
	defer close(c.done)
	for {
		s, err := c.o.Next(context.Background())
		if err != nil {
			return
		}
		c.mu.Lock()
		c.synced = s.Synced
		if err := cmp.Or(s.Err, s.Ambient); err != nil {
			c.err = err
		}
		for _, m := range s.Members {
			if m.Update == nil && m.Err == nil {
				c.wrong = "nothing is told of member " + m.Name.String()
			}
			c.members[m.Name.String()] = m.State
		}
		c.mu.Unlock()
	}
}

// collection returns the key of the wildcard or glob collection that contains a resource.
func collection(k modelKey) modelKey {
	if k.authority == "" {
		return modelKey{k.typ, "", resource.Wildcard}
	}
	return modelKey{k.typ, k.authority, xdstpName(k.authority, k.typ.Name, "*")}
}

func (w *modelWorld) collect() {
	k, l := collection(w.anyKey()), (*modelList)(nil)
	switch {
	case len(w.lists) > 0 && (!w.column.layout.collections || w.rng.IntN(2) == 0):
		l = w.anyList()
		k = l.key
	case !w.column.layout.collections:
		return
	}
	c := &modelCollector{key: k, list: l, number: w.collected, done: make(chan struct{}), members: make(map[string]resource.State)}
	w.collected++
	w.told("collector %d: watch %s %s", c.number, k.typ.Name, k.name)
	var err error
	if c.o, err = w.client.ObserveCollection(k.typ, k.name); err != nil {
		w.failf("ObserveCollection: %v", err)
		return
	}
	w.collectors = append(w.collectors, c)
	go c.run()
	if l != nil {
		w.relist(l, func() {})
	}
	w.eachMember(k, func(k modelKey) {
		w.retaken[k] = w.retaken[k] || w.dropped[k]
		w.crossed[k] = w.crossed[k] || w.dropped[k] && (w.bursting || w.busy(k))
	})
}

func (w *modelWorld) scatter() {
	if len(w.collectors) == 0 {
		return
	}
	i := w.rng.IntN(len(w.collectors))
	c := w.collectors[i]
	w.told("collector %d: stop", c.number)
	w.collectors = slices.Delete(w.collectors, i, i+1)
	c.o.Stop()
	<-c.done
	if c.list != nil {
		w.relist(c.list, func() {})
	}
	w.eachMember(c.key, func(k modelKey) { w.dropped[k], w.left[k] = true, true })
}

// outlives reports whether diderot may not report the removal of a member. It ignores the versions
// that a client has from an earlier stream, and does not answer a wildcard without members. In the
// state of the world, it keeps resources that the client unsubscribed from, and sends them with
// others of the type.
func (w *modelWorld) outlives(k modelKey) bool {
	opened, _ := w.servers[w.active(k)].Opened()
	return w.temper == memoryads.Diderot && (opened > 1 || !w.model.delta && k.typ.Complete && w.left[k])
}

func (w *modelWorld) eachMember(c modelKey, do func(modelKey)) {
	for _, k := range w.keys {
		if collection(k) == c {
			do(k)
		}
	}
}

// covered reports whether a resource may be a member of a collection that is watched.
func (w *modelWorld) covered(k modelKey) bool {
	return slices.ContainsFunc(w.collectors, func(c *modelCollector) bool {
		return c.key == collection(k) || c.list != nil && c.list.locates(k)
	})
}

// checkCollector compares a collector's members with the resources that its server holds.
func (w *modelWorld) checkCollector(c *modelCollector) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := w.model.server(c.key)
	switch {
	case c.wrong != "":
		w.failf("collector %d: %s", c.number, c.wrong)
	case !s.connected && c.err == nil && len(c.members) == 0:
		w.failf("collector %d has no error, but nobody is reached", c.number)
	case !s.connected || w.busy(c.key):
	case c.list != nil:
		w.checkList(c)
	case c.key.authority != "" && (w.temper == memoryads.Snapshot || w.temper == memoryads.Mux && c.key.typ.Complete):
		// A snapshot cache takes a glob for a name that does not exist. The client reads
		// the resources of watched names that it sends as an answer to the glob.
		silent := len(c.members) == 0 && !slices.ContainsFunc(w.keys, func(k modelKey) bool { return collection(k) == c.key && w.named[k] })
		if kind := kindOf(c.err); silent && kind != isNotFound && kind != isTimeout && !w.unproven(c.key) {
			w.failf("collector %d has %v of a collection that is never answered", c.number, c.err)
		}
	default:
		w.eachMember(c.key, func(k modelKey) { w.checkMember(c, k, s.holds[k]) })
	}
}

func (w *modelWorld) checkMember(c *modelCollector, k modelKey, held content) {
	m := c.members[k.name]
	value, kind := "", kindOf(m.Err)
	if m.Update != nil {
		value = tag(m.Update)
	}
	located := slices.ContainsFunc(w.lists, func(l *modelList) bool { return l.locates(k) })
	if got := w.cached(k); got != value && w.model.beliefs[k] == nil && !located { // a watch by name may keep a value
		w.failf("collector %d has %q of %s, but %q is cached", c.number, value, k.name, got)
	}
	switch {
	case w.model.mortal[k] && value == "" && (kind == isRemoved || kind == noError): // it has expired
	case held.bad:
		if kind != isInvalid {
			w.failf("collector %d has %v of %s, want %v", c.number, m.Err, k.name, isInvalid)
		}
	case held.code != 0: // an error of a member does not always cause an event
	case held.value != "":
		if value != held.value || kind != noError && (kind != isTransport || !w.unproven(k)) {
			w.failf("collector %d has %q and %v of %s, want %q", c.number, value, m.Err, k.name, held.value)
		}
	case value != "" && kind == noError && w.tells(k) && !w.outlives(k) && (!w.model.delta || !w.crossed[k]):
		w.failf("collector %d has %q of %s, but there is nothing", c.number, value, k.name)
	}
}
