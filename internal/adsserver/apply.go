package adsserver

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/source"
)

// Apply implements [source.Sink].
func (f *feed) Apply(ch source.Change) error {
	c := f.core
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return ErrClosed
	}
	if f.epoch != "" && ch.Epoch != f.epoch {
		c.reset(f, ch.Put)
	}
	f.epoch, f.revision = ch.Epoch, ch.Revision
	c.versionText = ""
	f.applied++
	c.putAll(f, ch.Put, false)
	for _, key := range ch.Delete {
		if k := c.types[key.Type]; k != nil {
			if e := k.entries[key.Name]; e != nil && e.feed == f {
				c.set(k, e, nil)
				c.release(k, e)
			}
		}
	}
	c.putAll(f, ch.Put, true)
	for _, i := range ch.Complete {
		if k := c.types[i.Type]; k != nil {
			c.complete(f, k, i.Name)
		}
	}
	if len(ch.Complete) > 0 {
		c.wake() // somebody waits for an answer
	} else {
		c.pace()
	}
	c.timers.arm(c)
	c.mu.Unlock()
	c.config.Changed()
	return nil
}

// putAll applies resources. Those with aliases are applied again after the other changes, because an alias may have left another
// resource, or have been a name of its own.
func (c *Core) putAll(f *feed, puts []source.Resource, again bool) {
	for i := range puts {
		if k := c.types[puts[i].Type]; k != nil && (!again || len(puts[i].Aliases) > 0) {
			c.put(f, k, &puts[i])
		}
	}
}

// reset removes the resources of an earlier epoch that the new one does not have.
func (c *Core) reset(f *feed, kept []source.Resource) {
	keep := make(map[source.Key]bool, len(kept))
	for i := range kept {
		keep[kept[i].Key] = true
	}
	for _, k := range c.types {
		for _, e := range k.entries {
			if e.feed == f && e.content != nil && !keep[source.Key{Type: k.url, Name: e.content.name}] {
				c.set(k, e, nil)
				c.release(k, e)
			}
		}
	}
}

// put applies a resource if a stream subscribes to it.
func (c *Core) put(f *feed, k *kind, r *source.Resource) {
	e := k.entries[r.Name]
	if e == nil {
		if e = c.wanted(f, k, r); e == nil {
			return
		}
	}
	if e.feed != f {
		return // a source has no say about another's authority
	}
	e.stale = false
	if x := e.content; x != nil && x.name == e.name && source.SameVersion(x.version, r.Version) {
		x.expires = r.Expires
		c.timers.add(k, e)
		c.link(k, e) // the source repeats a resource for a new alias
		return
	}
	appears := e.content == nil
	c.stamps++
	k.shared.clear()
	c.set(k, e, newContent(r, c.stamps))
	if appears {
		for s := range e.collection.streams {
			s.join(e)
		}
	}
	c.timers.add(k, e)
	c.release(k, e) // if it was here for an alias that is gone
}

// wanted returns a new entry for a resource that somebody subscribes to by its collection or an
// alias.
func (c *Core) wanted(f *feed, k *kind, r *source.Resource) *entry {
	l := k.collections[collectionName(r.Name)]
	if l != nil && len(l.streams) > 0 && l.feed == f {
		return c.entryOf(k, r.Name)
	}
	for _, a := range r.Aliases {
		if k.entries[a] != nil && sameAuthority(r.Name, a) {
			return c.entryOf(k, r.Name)
		}
	}
	return nil
}

// set changes the content of an entry and of the entries for its aliases.
func (c *Core) set(k *kind, e *entry, x *content) {
	old := e.content
	if old == nil && x == nil {
		return
	}
	c.show(e, x)
	if old != nil && old.name == e.name {
		for _, name := range old.aliases {
			if a := k.entries[name]; a != nil && a.content == old {
				e.aliases--
				c.show(a, nil)
			}
		}
	}
	c.link(k, e)
}

// link shows a resource under its aliases. A resource of its own and an earlier link have
// precedence.
func (c *Core) link(k *kind, e *entry) {
	x := e.content
	if x == nil || x.name != e.name {
		return
	}
	for _, name := range x.aliases {
		if a := k.entries[name]; a != nil && a != e && a.content == nil {
			e.aliases++
			c.show(a, x)
		}
	}
}

// show changes the content of one entry and notes it for its streams.
func (c *Core) show(e *entry, x *content) {
	switch {
	case x != nil:
		c.forget(e)
		e.failure = nil
	case e.content != nil:
		c.keep(e)
	}
	if e.content != nil && e.content.name != e.name {
		e.was = e.content.name
	}
	if x != nil {
		e.collection.live++
	}
	if e.content != nil {
		e.collection.live--
	}
	e.content = x
	for _, s := range e.users {
		s.note(e)
	}
}

// complete records that the source has reported everything about a name or a collection.
func (c *Core) complete(f *feed, k *kind, name string) {
	if e := k.entries[name]; e != nil && e.feed == f && !e.known {
		c.vanish(k, e)
		c.learn(e)
	}
	l := k.collections[name]
	if l == nil || l.feed != f || l.complete {
		return
	}
	if l.stale {
		for _, e := range slices.Clone(l.members) {
			c.vanish(k, e)
			c.release(k, e)
		}
		l.stale = false
	}
	l.complete = true
	c.drop(&l.asked)
	for s, p := range l.streams {
		s.learned(p)
	}
}

// vanish removes a stale content. A source that had not answered for the collection did not have to report the removal of a
// member while nobody subscribed to its name. It has reported all that exists now.
func (c *Core) vanish(k *kind, e *entry) {
	if e.stale {
		e.stale = false
		c.set(k, e, nil)
	}
}

// learn records that everything about a name is known.
func (c *Core) learn(e *entry) {
	e.known = true
	c.answered(e)
	for _, s := range e.users {
		s.resolve(e)
		s.note(e)
	}
}

// wake wakes the streams that the event touched.
func (c *Core) wake() {
	for i, st := range c.touched {
		c.touched[i] = nil
		st.touched, st.going = false, true
		select {
		case st.ready <- struct{}{}:
		default:
		}
	}
	c.touched = c.touched[:0]
	c.now = 0
}
