// Package adslog follows the ADS streams of a control plane under test: which names clients
// subscribe to, which responses they received, and which of these they accepted or rejected. It
// reads both variants of the protocol.
package adslog

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/protobuf/proto"
)

// A Log has the streams of one control plane. Its methods may be called from any goroutine. The
// zero Log is empty and ready to use.
type Log struct {
	mu         sync.Mutex
	kinds      map[string]Kind
	changed    chan struct{} // closed at the next change; nil if nobody waits
	opened     int
	streams    []*Stream // those that are open, oldest first
	rejections []rejection
}

// A rejection is a NACK.
type rejection struct{ url, message string }

// A Kind is what a log knows of a resource type.
type Kind struct {
	// Name reads a resource's name from its encoded message. Nil: it carries none.
	Name func(body []byte) (string, error)
	// Complete reports whether a state-of-the-world response has all resources that the client
	// subscribes to, so that the client removes the others.
	Complete bool
}

// Describe sets the kind of a type, before the first stream opens.
func (l *Log) Describe(url string, k Kind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kinds == nil {
		l.kinds = make(map[string]Kind)
	}
	l.kinds[url] = k
}

// Open adds a stream.
func (l *Log) Open() *Stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opened++
	s := &Stream{log: l, number: l.opened, types: make(map[string]*subscription)}
	l.streams = append(l.streams, s)
	l.wake()
	return s
}

// Await waits until done returns true. The log calls done at once and after each change. It
// returns the cause of ctx's end if that comes first.
func (l *Log) Await(ctx context.Context, done func() bool) error {
	for {
		l.mu.Lock()
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		if done() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *Log) wake() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// Streams returns the number of open streams.
func (l *Log) Streams() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.streams)
}

// Subscribed returns the names of a type to which open streams subscribe, sorted. "*" stands for
// the wildcard.
func (l *Log) Subscribed(url string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var names []string
	for _, s := range l.streams {
		if t, ok := s.types[url]; ok {
			names = append(names, t.sorted()...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Rejections returns the messages of the NACKs of a type so far, oldest first, of all streams.
func (l *Log) Rejections(url string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var messages []string
	for _, r := range l.rejections {
		if r.url == url {
			messages = append(messages, r.message)
		}
	}
	return messages
}

// A Stream is one ADS stream.
type Stream struct {
	log    *Log
	number int
	types  map[string]*subscription // by type URL
}

// Close removes the stream from its log. It may be called more than once.
func (s *Stream) Close() {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.streams = slices.DeleteFunc(s.log.streams, func(o *Stream) bool { return o == s })
	s.log.wake()
}

// Request notes a request of the client, of either variant.
func (s *Stream) Request(m proto.Message) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.request(m)
	s.log.wake()
}

// Response notes a response to the client, of either variant.
func (s *Stream) Response(m proto.Message) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.response(m)
	s.log.wake()
}

// of returns the state of a type.
func (s *Stream) of(url string) *subscription {
	t, ok := s.types[url]
	if !ok {
		t = &subscription{kind: s.log.kinds[url], names: make(map[string]bool), has: make(map[string]string)}
		s.types[url] = t
	}
	return t
}
