package adsserver

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/feature"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A Stream is the server's end of an ADS stream. One goroutine may call Request while another calls
// Next. The mutex of the core guards its fields.
type Stream struct {
	core   *Core
	number int // counted over all streams of the core, from 1
	delta  bool
	url    string // of the only type; "": all
	allow  func(url, name string) bool
	about  any
	budget *Budget
	begin  time.Time
	ready  chan struct{} // has a token if there may be something to send
	ended  chan struct{} // closed at the end

	node      string // id of the client's node
	errors    bool   // the client keeps a resource that has an error (xRFC TP3)
	begun     bool
	err       error // the stream has ended
	pending   bool  // it has ended, and leave must follow
	busy      bool  // a request is handled
	more      bool  // build was interrupted, so that others may have the lock
	paused    bool  // others had the lock meanwhile
	touched   bool  // in core.touched
	late      bool  // in core.rounds.late
	going     bool  // builds responses until there are none, though it is late
	behind    behind
	departure departure
	nonce     uint64
	joint     *joint       // first piece of the response that is built; nil: it has none
	kinds     []*substream // in the order of their ranks

	names, nameBytes     int    // subscriptions, and the bytes of their names
	collections          int    // subscriptions to collections
	claimed              int    // bytes of claims
	cost                 int    // bytes of other memory
	unread               [2]int // bytes of the last two responses that no other stream shares; see sending
	charged, chargedSize int    // the part that the budget has
}

// StreamOptions are the options of one stream.
type StreamOptions struct {
	// Delta selects the delta protocol.
	Delta bool
	// URL is the type URL of a service of one type. It is empty for the aggregated service.
	URL string
	// Allow reports whether the client may subscribe to a name of a type. It is called with the lock
	// of the core, and must not call the core. Nil allows everything.
	Allow func(url, name string) bool
	// About belongs to the owner of the stream. [Core.Clients] returns it.
	About any
	// Budget, if not nil, has the names of all streams of one client.
	Budget *Budget
}

// Open starts a stream of a variant of the protocol.
func (c *Core) Open(delta bool) (*Stream, error) { return c.OpenStream(StreamOptions{Delta: delta}) }

// OpenStream starts a stream.
func (c *Core) OpenStream(o StreamOptions) (*Stream, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, ErrClosed
	case c.refused != nil:
		return nil, c.refused
	case c.config.EndOnDown && c.feed != nil && c.feed.state.Kind == source.Down:
		return nil, downError(c.feed.state)
	}
	c.opened++
	st := &Stream{
		core: c, number: c.opened, delta: o.Delta, url: o.URL, allow: o.Allow, about: o.About, budget: o.Budget,
		begin: time.Now(), ready: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	c.streams[st] = struct{}{}
	return st, nil
}

// Close ends the stream.
func (st *Stream) Close(err error) {
	c := st.core
	c.mu.Lock()
	st.end(err)
	pending := st.pending
	c.flush()
	c.wake()
	c.mu.Unlock()
	if pending {
		st.budget.enter()
		c.mu.Lock()
		st.leave()
		c.flush()
		c.wake()
		c.mu.Unlock()
		st.budget.exit()
	}
	c.config.Changed()
}

// Ended returns a channel that is closed when the stream ends. Next then returns the reason.
func (st *Stream) Ended() <-chan struct{} { return st.ended }

// end ends the stream once, and its subscriptions. Many subscriptions end with leave, in parts.
func (st *Stream) end(err error) {
	if st.err != nil {
		return
	}
	st.err = err
	close(st.ended)
	delete(st.core.streams, st)
	st.touch()
	n := 0
	for _, s := range st.kinds {
		n += s.subs.n + len(s.lists)
	}
	if st.pending = true; n <= st.core.part {
		st.leave()
	}
}

// leave ends the subscriptions of a stream that has ended. Others may have the lock in between.
func (st *Stream) leave() {
	if !st.pending {
		return
	}
	st.pending = false
	for _, s := range st.kinds {
		s.leave()
	}
	st.budget.release(st)
}

// touch has the stream woken at the end of the event.
func (st *Stream) touch() {
	if !st.touched {
		st.touched = true
		st.core.touched = append(st.core.touched, st)
	}
}

// Request handles an encoded request. An error has ended the stream.
func (st *Stream) Request(raw []byte) error {
	c := st.core
	st.budget.enter()
	r := c.requests.Get().(*request)
	defer func() { r.claims = nil; c.requests.Put(r) }()
	err := r.decode(raw, st.delta, &c.config.Limits)
	if err == nil {
		r.claims, err = c.newClaims(r.initial)
	}
	if !st.delta {
		r.digest = r.digestOf(c.seed)
	}
	c.mu.Lock()
	rejection, from := source.Rejection{}, (*feed)(nil)
	if st.err == nil && err == nil {
		st.busy = true
		rejection, from, err = st.handle(r)
		if st.busy = false; st.paused {
			st.paused = false
			st.touch()
		}
	}
	if err != nil {
		st.end(err)
	}
	err = st.err
	st.leave()
	c.flush()
	c.wake()
	c.mu.Unlock()
	st.budget.exit()
	if from != nil {
		from.session.Report(rejection)
		c.config.Rejected(st.about, rejection)
	}
	c.config.Changed()
	return err
}

// handle handles a decoded request. It returns a rejection for a source.
func (st *Stream) handle(r *request) (rejection source.Rejection, from *feed, err error) {
	if !st.begun {
		st.begun, st.node, st.errors = true, nodeID(r.node), hasFeature(r.node, feature.ResourceErrors)
	}
	if len(r.url) > st.core.config.Limits.NameBytes {
		return rejection, nil, &LimitError{Limit: "length of a type URL", Value: len(r.url), Max: st.core.config.Limits.NameBytes, Option: "Limits.NameBytes"}
	}
	if st.url != "" {
		if len(r.url) > 0 && string(r.url) != st.url {
			return rejection, nil, fmt.Errorf("%w: type_url = %s; must be %s, the type of the service", ErrMalformed, printable.Quote(string(r.url), printable.Short), st.url)
		}
		r.url = append(r.url[:0:0], st.url...)
	}
	s, first, err := st.kindOf(r.url)
	if s == nil || err != nil {
		return rejection, nil, err
	}
	s.kind.counts.Requests++
	if r.over != nil {
		return rejection, nil, r.over
	}
	st.act(s.kind)
	if st.departure.first != 0 {
		st.touch() // the client may have answered everything
	}
	repeated := false
	if !first {
		var current bool
		if current, repeated = s.answer(r); !current { // stale
			if repeated && r.digest == s.names {
				err = s.repeat()
			}
			return rejection, nil, err
		}
	}
	if r.rejected && !first {
		rejection, from = s.reject(r)
	}
	if st.delta {
		err = s.deltaRequest(r, first)
	} else {
		s.returning = s.returning || first && len(r.version) > 0
		err = s.sotwRequest(r, repeated)
	}
	if err == nil {
		err = st.charge()
	}
	if err == nil {
		err = st.outdated()
	}
	if first && !st.delta {
		st.lagOf(r.version)
	}
	return rejection, from, err
}

// kindOf returns the state of a type on the stream, or nil for a type that is not served.
func (st *Stream) kindOf(url []byte) (s *substream, first bool, err error) {
	find := func(url string) *substream {
		for _, s := range st.kinds {
			if s.kind.url == url {
				return s
			}
		}
		return nil
	}
	if s := find(string(url)); s != nil {
		return s, false, nil
	}
	t, ok := st.core.config.Type(string(url))
	if !ok {
		return nil, false, nil
	}
	t.URL = cmp.Or(t.URL, string(url))
	if s := find(t.URL); s != nil {
		return s, false, nil
	}
	if limit := st.core.config.Limits.Types; len(st.kinds) >= limit {
		return nil, false, &LimitError{Limit: "types", Value: len(st.kinds) + 1, Max: limit, Option: "Limits.Types"}
	}
	k := st.core.kindOf(t)
	k.users++
	s = &substream{stream: st, kind: k}
	st.cost += typeCost
	i := len(st.kinds)
	for i > 0 && st.kinds[i-1].kind.rank > k.rank {
		i--
	}
	st.kinds = slices.Insert(st.kinds, i, s)
	return s, true, nil
}

// Next waits for a response and returns it in pieces, which nobody may change. It returns the reason
// if the stream has ended.
func (st *Stream) Next(ctx context.Context) ([][]byte, error) {
	c := st.core
	for {
		st.budget.enter()
		c.mu.Lock()
		err := st.err
		var pieces [][]byte
		var j *joint
		var again <-chan time.Time
		more := false // there is work, and others may have the lock before
		switch {
		case err != nil || c.held || st.busy || st.late && !st.going:
		case st.behind.waits():
			again = st.behind.next()
		default:
			if err = st.charge(); err != nil { // members have joined since the last request
				st.end(err)
				c.wake()
				break
			}
			pieces = st.build()
			if pieces == nil {
				again = st.departed()
			}
			st.going = pieces != nil || st.more
			more, st.more = st.more, false
			j, st.joint = st.joint, nil
			if err = st.charge(); err != nil { // the response is too much
				st.end(err)
				c.wake()
			}
			c.flush() // removals may end interests
			c.now = 0
		}
		c.mu.Unlock()
		st.budget.exit()
		if more {
			c.between()
			continue
		}
		if err != nil {
			return nil, err
		}
		if j != nil {
			pieces[0] = j.joined()
		}
		c.config.Changed() // without a response, too: the stream may have found that its client has everything
		if pieces != nil {
			return pieces, nil
		}
		select {
		case <-st.ready:
		case <-again:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// build returns the next response, or nil.
func (st *Stream) build() [][]byte {
	for _, s := range st.kinds {
		if s.puts {
			if pieces := s.buildPuts(); pieces != nil || st.more {
				return pieces
			}
		}
	}
	for _, s := range st.kinds {
		if s.owes() {
			if pieces := s.buildRefusals(); pieces != nil || st.more {
				return pieces
			}
		}
	}
	for _, s := range st.kinds {
		if len(s.beats) > 0 {
			if pieces := s.buildBeats(); pieces != nil || st.more {
				return pieces
			}
		}
	}
	st.defers() // releases those that have waited
	for _, s := range slices.Backward(st.kinds) {
		if s.gone {
			if pieces := s.buildGone(); pieces != nil || st.more {
				return pieces
			}
		}
	}
	return nil
}

// finish appends the fields that differ between streams, as the last piece of a response.
func (s *substream) finish(pieces [][]byte, batch []*content) [][]byte {
	st := s.stream
	s.lag()
	st.act(s.kind)
	st.nonce++
	s.nonce, s.last = st.nonce, batch
	s.sent++
	s.kind.counts.Responses++
	s.version = st.core.version()
	b := make([]byte, 0, len(s.kind.url)+len(s.version)+32)
	if s.owes() {
		b = s.appendRefusals(b, s.room(pieces))
	}
	b = appendString(b, responseTypeURL, s.kind.url)
	b = protowire.AppendString(appendTag(b, responseVersion), s.version)
	var nonce [16]byte
	b = protowire.AppendBytes(appendTag(b, responseNonce), strconv.AppendUint(nonce[:0], s.nonce, 36))
	own := len(b)
	for _, p := range pieces {
		if batch == nil { // no content, which others may share
			own += len(p)
		}
	}
	st.sending(own)
	return append(pieces, b)
}
