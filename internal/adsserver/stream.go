package adsserver

import (
	"context"
	"slices"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A Stream is the server's end of an ADS stream. One goroutine may call Request while another calls
// Next. The mutex of the core guards its fields.
type Stream struct {
	core   *Core
	number int // counted over all streams of the core, from 1
	delta  bool
	begin  time.Time
	ready  chan struct{} // has a token if there may be something to send

	node    string // id of the client's node
	begun   bool
	err     error // the stream has ended
	touched bool  // in core.touched
	nonce   uint64
	names   int          // subscriptions
	kinds   []*substream // in the order of their ranks
}

// Open starts a stream of a variant of the protocol.
func (c *Core) Open(delta bool) (*Stream, error) {
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
	st := &Stream{core: c, number: c.opened, delta: delta, begin: time.Now(), ready: make(chan struct{}, 1)}
	c.streams[st] = struct{}{}
	return st, nil
}

// Close ends the stream.
func (st *Stream) Close(err error) {
	c := st.core
	c.mu.Lock()
	st.end(err)
	c.flush()
	c.wake()
	c.mu.Unlock()
	c.config.Changed()
}

// end ends the stream once, and all its subscriptions.
func (st *Stream) end(err error) {
	if st.err != nil {
		return
	}
	st.err = err
	delete(st.core.streams, st)
	for _, s := range st.kinds {
		s.leave()
	}
	st.touch()
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
	r := c.requests.Get().(*request)
	defer c.requests.Put(r)
	err := r.decode(raw, st.delta)
	c.mu.Lock()
	rejection, from := source.Rejection{}, (*feed)(nil)
	if st.err == nil && err == nil {
		rejection, from, err = st.handle(r)
	}
	if err != nil {
		st.end(err)
	}
	err = st.err
	c.flush()
	c.wake()
	c.mu.Unlock()
	if from != nil {
		from.session.Report(rejection)
	}
	c.config.Changed()
	return err
}

// handle handles a decoded request. It returns a rejection for a source.
func (st *Stream) handle(r *request) (rejection source.Rejection, from *feed, err error) {
	if !st.begun {
		st.begun, st.node = true, nodeID(r.node)
	}
	if len(r.url) > st.core.config.Limits.NameBytes {
		return rejection, nil, &LimitError{"length of a type URL", len(r.url), st.core.config.Limits.NameBytes}
	}
	s, first, err := st.kindOf(r.url)
	if s == nil || err != nil {
		return rejection, nil, err
	}
	if !first && !s.answer(r) {
		return rejection, nil, nil // stale
	}
	if r.rejected && !first {
		rejection, from = s.reject(r)
	}
	if st.delta {
		err = s.deltaRequest(r, first)
	} else {
		err = s.sotwRequest(r)
	}
	return rejection, from, err
}

// kindOf returns the state of a type on the stream, or nil for a type that is not served.
func (st *Stream) kindOf(url []byte) (s *substream, first bool, err error) {
	for _, s := range st.kinds {
		if s.kind.url == string(url) {
			return s, false, nil
		}
	}
	if limit := st.core.config.Limits.Types; len(st.kinds) >= limit {
		return nil, false, &LimitError{"types", len(st.kinds) + 1, limit}
	}
	k := st.core.kindOf(string(url))
	if k == nil {
		return nil, false, nil
	}
	k.users++
	s = &substream{stream: st, kind: k}
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
		c.mu.Lock()
		err := st.err
		var pieces [][]byte
		if err == nil && !c.held {
			pieces = st.build()
			c.flush() // removals may end interests
		}
		c.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case pieces != nil:
			c.config.Changed()
			return pieces, nil
		}
		select {
		case <-st.ready:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// build returns the next response, or nil.
func (st *Stream) build() [][]byte {
	for _, s := range st.kinds {
		if s.puts {
			if pieces := s.buildPuts(); pieces != nil {
				return pieces
			}
		}
	}
	for _, s := range st.kinds {
		if len(s.beats) > 0 {
			if pieces := s.buildBeats(); pieces != nil {
				return pieces
			}
		}
	}
	for _, s := range slices.Backward(st.kinds) {
		if s.gone {
			if pieces := s.buildGone(); pieces != nil {
				return pieces
			}
		}
	}
	return nil
}

// finish appends the fields that differ between streams, as the last piece of a response.
func (s *substream) finish(pieces [][]byte, batch []*content) [][]byte {
	st := s.stream
	st.nonce++
	s.nonce, s.last = st.nonce, batch
	s.sent++
	version := st.core.version()
	b := make([]byte, 0, len(s.kind.url)+len(version)+32)
	b = appendString(b, responseTypeURL, s.kind.url)
	b = protowire.AppendBytes(appendTag(b, responseVersion), version)
	var nonce [16]byte
	b = protowire.AppendBytes(appendTag(b, responseNonce), strconv.AppendUint(nonce[:0], s.nonce, 36))
	return append(pieces, b)
}
