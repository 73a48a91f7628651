package adsserver

import (
	"container/list"
	"fmt"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
)

// unanswered has the names and collections that no source has answered yet, in the order of their interests. After
// Config.AnswerTimeout, a name gets an error (xRFC TP3), and neither holds back the resources of others in state of
// the world any longer.
type unanswered struct {
	queue list.List // of *question
	timer *time.Timer
}

// A question is a name or a collection that a source has not answered.
type question struct {
	kind  *kind
	entry *entry      // nil: list
	list  *collection // nil: entry
	at    time.Time
}

// ask notes the question for an entry or a collection.
func (c *Core) ask(q *question) *list.Element {
	if c.config.AnswerTimeout <= 0 {
		return nil
	}
	q.at = time.Now()
	u := &c.unanswered
	if u.timer == nil {
		u.timer = time.AfterFunc(c.config.AnswerTimeout, c.giveUp)
	} else if u.queue.Len() == 0 {
		u.timer.Reset(c.config.AnswerTimeout)
	}
	return u.queue.PushBack(q)
}

// answered ends the question of an entry, and its error.
func (c *Core) answered(e *entry) {
	e.failure = nil
	c.drop(&e.asked)
}

// drop ends a question, if there is one.
func (c *Core) drop(asked **list.Element) {
	if *asked != nil {
		c.unanswered.queue.Remove(*asked)
		*asked = nil
	}
}

func (u *unanswered) stop() {
	if u.timer != nil {
		u.timer.Stop()
	}
}

// giveUp handles the questions that are too old. Others may have the lock in between.
func (c *Core) giveUp() {
	c.mu.Lock()
	u := &c.unanswered
	n := 0
	for front := u.queue.Front(); front != nil && !c.closed; front = u.queue.Front() {
		q := front.Value.(*question)
		if left := c.config.AnswerTimeout - time.Since(q.at); left > 0 {
			u.timer.Reset(left)
			break
		}
		if q.entry != nil {
			n += 1 + len(q.entry.users)
			c.fail(q.entry)
		} else {
			c.drop(&q.list.asked)
			n += 1 + len(q.list.streams)
			for s, p := range q.list.streams {
				s.proceed(&p.waits, q.list.feed)
			}
		}
		if n >= c.part {
			n = 0
			c.breathe()
		}
	}
	c.wake()
	c.mu.Unlock()
	c.config.Changed()
}

// fail gives a name an error in the place of the missing answer. A resource that its collection has needs none.
func (c *Core) fail(e *entry) {
	c.drop(&e.asked)
	if e.content == nil {
		c.stamps++
		e.failure = &content{stamp: c.stamps | errorStamp, name: e.name, err: &rpcstatus.Status{
			Code: int32(codes.Unavailable), Message: fmt.Sprintf("the source of the resource has not answered for %v; it is %v", c.config.AnswerTimeout, e.feed.state.Kind),
		}}
	}
	for _, s := range e.users {
		if p := s.find(e); p.flags.has(waits) {
			held := true
			s.proceed(&held, e.feed)
			if !held {
				p.flags &^= waits
			}
		}
		s.note(e)
	}
}

// proceed has a state-of-the-world response wait no longer for a subscription without an answer. In the delta
// protocol, no resource waits for another one. Only claims do: an unanswered name says nothing about them.
func (s *substream) proceed(waits *bool, f *feed) {
	if *waits && s.replaces() && !s.patient() {
		*waits = false
		s.known(f)
	}
	if len(s.dirty) > 0 {
		s.puts = true
	}
	s.stream.touch()
}

// patient reports whether the client may have resources of an earlier stream. A response without a resource would
// delete it, so the first response waits until the sources have answered all names.
func (s *substream) patient() bool { return s.returning && s.sent == 0 }

// shows returns the content of a subscription, or the error in its place, or nil.
func (p *sub) shows() *content {
	if e := p.entry; e.content != nil || !p.flags.has(byName) {
		return e.content
	}
	return p.entry.failure
}
