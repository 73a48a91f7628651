package adsserver

import (
	"fmt"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"

	"github.com/xdsforge/xdsforge/framework/source"
)

// unanswered has the names and collections that no source has answered yet, in the order of their interests. After
// Config.AnswerTimeout, a name gets an error (xRFC TP3), and neither holds back the resources of others in state of
// the world any longer.
type unanswered struct {
	first, last *question
	timer       *time.Timer
	errs        map[source.StateKind]*rpcstatus.Status // of failures
}

// A question is a name or a collection that a source has not answered. It is an element of the queue.
type question struct {
	entry          *entry      // nil: list
	list           *collection // nil: entry
	at             time.Time
	previous, next *question
}

// add appends a question.
func (u *unanswered) add(q *question) {
	if q.previous = u.last; u.last == nil {
		u.first = q
	} else {
		u.last.next = q
	}
	u.last = q
}

// remove removes a question.
func (u *unanswered) remove(q *question) {
	if q.previous == nil {
		u.first = q.next
	} else {
		q.previous.next = q.next
	}
	if q.next == nil {
		u.last = q.previous
	} else {
		q.next.previous = q.previous
	}
}

// ask notes the question for an entry or a collection.
func (c *Core) ask(q *question) *question {
	if c.config.AnswerTimeout <= 0 {
		return nil
	}
	q.at = time.Now()
	u := &c.unanswered
	if u.timer == nil {
		u.timer = time.AfterFunc(c.config.AnswerTimeout, c.giveUp)
	} else if u.first == nil {
		u.timer.Reset(c.config.AnswerTimeout)
	}
	u.add(q)
	return q
}

// answered ends the question of an entry, and its error.
func (c *Core) answered(e *entry) {
	e.failure = nil
	c.drop(&e.asked)
}

// drop ends a question, if there is one.
func (c *Core) drop(asked **question) {
	if *asked != nil {
		c.unanswered.remove(*asked)
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
	for q := u.first; q != nil && !c.closed; q = u.first {
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
				s.proceed(&p.waits, q.list.feed, s.patient())
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
		e.failure = &failure{stamp: c.stamps | errorStamp, err: c.lateError(e.feed.state.Kind)}
	}
	for _, s := range e.users {
		if p := s.find(e); p.flags.has(waits) {
			held := true
			s.proceed(&held, e.feed, s.patientOfName())
			if !held {
				p.flags &^= waits
			}
		}
		s.note(e)
	}
}

// A failure is the error of a name that its source has not answered in time.
type failure struct {
	stamp uint64
	err   *rpcstatus.Status // shared
}

// lateError returns the status of names whose source is in a state.
func (c *Core) lateError(k source.StateKind) *rpcstatus.Status {
	u := &c.unanswered
	if u.errs == nil {
		u.errs = make(map[source.StateKind]*rpcstatus.Status)
	}
	if u.errs[k] == nil {
		u.errs[k] = &rpcstatus.Status{
			Code: int32(codes.Unavailable), Message: fmt.Sprintf("the source of the resource has not answered for %v; it is %v", c.config.AnswerTimeout, k),
		}
	}
	return u.errs[k]
}

// proceed has a state-of-the-world response wait no longer for a subscription without an answer. In the delta
// protocol, no resource waits for another one. Only claims do: an unanswered name says nothing about them.
func (s *substream) proceed(waits *bool, f *feed, patient bool) {
	if *waits && s.replaces() && !patient {
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

// patientOfName is patient for a name. Its error is enough for a client that keeps a resource which has one. No error can
// stand for the members of a collection.
func (s *substream) patientOfName() bool { return s.patient() && !s.stream.errors }

// shows returns the content of a subscription, or the error in its place, or nil. The content of an error exists only
// for one response, because a client can cause many.
func (p *sub) shows() *content {
	e := p.entry
	if e.content == nil && p.shown() {
		return &content{stamp: e.failure.stamp, name: e.name, err: e.failure.err, late: true}
	}
	return e.content
}

// shown reports whether a subscription has a content, or an error in its place.
func (p *sub) shown() bool {
	return p.entry.content != nil || p.flags.has(byName) && p.entry.failure != nil
}
