package adsserver

import (
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A kind is the state of one resource type.
type kind struct {
	Type
	url         string
	rank        int
	users       int // streams that have requested the type
	entries     map[string]*entry
	collections map[string]*collection
	shared      shared
	counts      *Counts // of all streams so far
}

// An entry is a name that a stream subscribes to, by itself or as a member of a collection.
type entry struct {
	name       string
	id         uint64 // later entries have greater ids
	feed       *feed  // nil: no source has it
	collection *collection
	content    *content     // nil: there is no resource
	kept       *keptContent // nil: no client needs an earlier content
	asked      *question    // in the queue of unanswered; nil: it is not there
	failure    *failure     // the error of a name that its source has not answered in time; nil: there is none
	was        string       // name of the last content, if the entry is an alias
	place      uint32       // in the members of its collection
	explicit   uint32       // streams that subscribe to the name itself
	aliases    uint32       // entries for aliases of the resource
	known      bool         // the source has reported everything about the name
	stale      bool         // the source has not reported the content since the interest in the name ended; see vanish
	users      []*substream // each once
}

// A collection is the directory of an entry: a glob or the wildcard. It exists as long as it has
// members or subscribers.
type collection struct {
	name     string
	feed     *feed
	members  []*entry
	live     int // members with a content
	streams  map[*substream]*listSub
	leaving  []*substream // have unsubscribed, and may still have members
	complete bool
	stale    bool      // a member is stale
	asked    *question // as of an entry
}

// addUser adds a substream, and returns its place.
func (e *entry) addUser(s *substream) uint32 {
	e.users = append(e.users, s)
	s.stream.cost += subCost
	return uint32(len(e.users) - 1) //nolint:gosec // fewer than 2^32 streams
}

// removeUser removes the substream of a subscription. Another one takes its place.
func (e *entry) removeUser(p *sub) {
	e.users[p.place].stream.cost -= subCost
	last := len(e.users) - 1
	if moved := e.users[last]; int(p.place) != last {
		e.users[p.place] = moved
		moved.find(e).place = p.place
	}
	e.users[last] = nil
	e.users = e.users[:last]
	if cap(e.users) > 64 && last < cap(e.users)/4 {
		e.users = slices.Clone(e.users)
	}
}

// kindOf returns the state of a type, which it makes if needed.
func (c *Core) kindOf(t Type) *kind {
	if k := c.types[t.URL]; k != nil {
		return k
	}
	k := &kind{
		Type: t, url: t.URL, rank: rank(t.URL),
		entries: make(map[string]*entry), collections: make(map[string]*collection), counts: c.countsOf(t.URL),
	}
	c.types[t.URL] = k
	return k
}

// leave forgets a type that nobody uses.
func (c *Core) leave(k *kind) {
	k.users--
	if k.users == 0 {
		delete(c.types, k.url)
	}
}

// collectionName returns the collection that has a name as a member.
func collectionName(name string) string {
	if strings.HasPrefix(name, "xdstp:") {
		if n, err := xdstp.Parse(name); err == nil {
			if glob, ok := n.Glob(); ok {
				return glob.String()
			}
		}
	}
	return source.Wildcard
}

// isCollection reports whether a canonical name is the wildcard or a glob.
func isCollection(name string) bool {
	if name == source.Wildcard {
		return true
	}
	if !strings.HasPrefix(name, "xdstp:") || !strings.Contains(name, "/*") {
		return false
	}
	n, err := xdstp.Parse(name)
	return err == nil && n.IsGlob()
}

// canonical returns the canonical form of a name. An invalid name names nothing, and stays as it is.
func canonical(name string) string {
	if strings.HasPrefix(name, "xdstp:") {
		if n, err := xdstp.Parse(name); err == nil {
			return n.String()
		}
	}
	return name
}

// entryOf returns the entry of a canonical name, which it makes if needed.
func (c *Core) entryOf(k *kind, name string) *entry {
	if e := k.entries[name]; e != nil {
		return e
	}
	c.ids++
	e := &entry{name: name, id: c.ids, feed: c.route(name)}
	if name == source.Everything {
		e.feed = nil // no resource has this name, and the interest would be one in all resources
	}
	e.known = e.feed == nil
	k.entries[name] = e
	e.collection = c.collectionOf(k, collectionName(name), e.feed)
	e.place = uint32(len(e.collection.members)) //nolint:gosec // fewer than 2^32 names
	e.collection.members = append(e.collection.members, e)
	return e
}

// collectionOf returns a collection, which it makes if needed.
func (c *Core) collectionOf(k *kind, name string, f *feed) *collection {
	l := k.collections[name]
	if l == nil {
		l = &collection{name: name, feed: f, complete: f == nil}
		k.collections[name] = l
	}
	return l
}

// abandon ends the interest in a name that no stream subscribes to any longer.
func (c *Core) abandon(k *kind, e *entry) {
	e.feed.want(k, e.name, drop)
	if l := e.collection; e.content != nil && e.content.name == e.name && len(l.streams) > 0 && !l.complete {
		e.stale, l.stale = true, true
	}
	e.known = e.feed == nil
	c.answered(e)
}

// release forgets an entry that nobody needs.
func (c *Core) release(k *kind, e *entry) {
	if len(e.users) > 0 || e.aliases > 0 || k.entries[e.name] != e {
		return
	}
	if l := e.collection; len(l.streams) > 0 && e.content != nil {
		return
	}
	target := e.target(k)
	c.set(k, e, nil)
	delete(k.entries, e.name)
	l := e.collection
	last := len(l.members) - 1
	l.members[e.place] = l.members[last]
	l.members[e.place].place = e.place
	l.members[last] = nil
	l.members = l.members[:last]
	c.dropCollection(k, l)
	if target != nil {
		target.aliases--
		c.release(k, target)
	}
}

// target returns the entry of the resource that an entry shows as its alias, or nil.
func (e *entry) target(k *kind) *entry {
	if e.content == nil || e.content.name == e.name {
		return nil
	}
	return k.entries[e.content.name]
}

// dropCollection forgets a collection without members and subscribers.
func (c *Core) dropCollection(k *kind, l *collection) {
	if len(l.members) == 0 && len(l.streams)+len(l.leaving) == 0 {
		delete(k.collections, l.name)
	} else if cap(l.members) > 64 && len(l.members) < cap(l.members)/4 {
		l.members = slices.Clone(l.members)
	}
}
