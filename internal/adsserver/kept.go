package adsserver

import "container/list"

// maxKeptBytes bounds the removed contents that a core keeps.
const maxKeptBytes = 64 << 20

// A keptContent is the content of a removed resource that clients in state of the world still have. A response
// of a complete type deletes the resources that it lacks. Therefore a response that adds or changes resources
// has the removed ones, too. Only a later response lacks them, after those of all other types.
//
// Beyond [maxKeptBytes], the core drops the oldest contents. Clients that read slowly are then told of these
// removals early.
type keptContent struct {
	content *content
	holders int // subscriptions whose client has the resource
	place   *list.Element
}

// keep keeps the content of an entry that is about to be removed, if a client has it.
func (c *Core) keep(e *entry) {
	holders := 0
	for _, s := range e.users {
		if e.content.err == nil && s.replaces() && hasResource(s.find(e).stamp) {
			holders++
		}
	}
	if holders == 0 {
		return
	}
	e.kept = &keptContent{content: e.content, holders: holders, place: c.kept.PushBack(e)}
	c.keptBytes += len(e.content.body)
	for c.keptBytes > maxKeptBytes {
		c.forget(c.kept.Front().Value.(*entry))
	}
}

// forget drops the kept content of an entry, if there is one.
func (c *Core) forget(e *entry) {
	if e.kept == nil {
		return
	}
	c.kept.Remove(e.kept.place)
	c.keptBytes -= len(e.kept.content.body)
	e.kept = nil
}

// replaces reports whether each response replaces all resources that the client has.
func (s *substream) replaces() bool { return !s.stream.delta && s.kind.Complete }

// removed records that the client no longer has the removed resource of a subscription.
func (s *substream) removed(p *sub) {
	if k := p.entry.kept; k != nil && hasResource(p.stamp) && s.replaces() {
		k.holders--
		if k.holders == 0 {
			s.stream.core.forget(p.entry)
		}
	}
	p.stamp = 0
}
