package memoryads

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"
)

// A Server is a control plane. Its methods may be called from any goroutine.
type Server struct {
	mu          sync.Mutex
	held        map[string]*holdings // by type URL
	streams     []*stream            // those that have not ended, oldest first
	opened      int                  // streams so far
	lastOpened  time.Time
	connections int // that are not closed
	nonces      int
	requests    []proto.Message
	changed     chan struct{} // closed and replaced when streams have to look again
	faults      faults
	temperament Temperament
	trace       func(line string) // nil: nobody reads it
	record      record
	names       func(url string, body []byte) string // of a Checker: the name in a message
}

// NewServer returns a server that holds nothing yet.
func NewServer(types ...Type) *Server {
	s := &Server{
		held:    make(map[string]*holdings),
		changed: make(chan struct{}),
		faults:  faults{failing: make(map[string]error), silent: make(map[string]bool)},
		record: record{
			sent: make(map[string]bool), explicit: make(map[string]bool), learned: make(map[string]bool), gone: make(map[string]bool),
		},
	}
	for _, t := range types {
		s.held[t.URL] = &holdings{Type: t, resources: make(map[string]*Resource)}
	}
	return s
}

// Set adds or replaces resources of a type, in one new version of it.
func (s *Server) Set(typeURL string, resources ...Resource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.of(typeURL)
	h.version++
	names := make([]string, 0, len(resources))
	for _, r := range resources {
		r.version = h.state()
		h.resources[r.Name] = &r
		names = append(names, r.Name)
	}
	s.tell(func(p protocol) { p.change(h, names) })
}

// Delete removes resources of a type, in one new version of it.
func (s *Server) Delete(typeURL string, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.of(typeURL)
	h.version++
	for _, n := range names {
		delete(h.resources, n)
	}
	s.tell(func(p protocol) { p.change(h, names) })
}

// Heartbeat says of resources with a TTL that they are still valid.
func (s *Server) Heartbeat(typeURL string, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.of(typeURL)
	s.tell(func(p protocol) { p.heartbeat(h, names) })
}

// of returns the resources of a type. A type that the server was not created for is a bug
// in the test.
func (s *Server) of(typeURL string) *holdings {
	h, ok := s.held[typeURL]
	if !ok {
		panic(fmt.Sprintf("memoryads: type %q is not served", typeURL))
	}
	return h
}

// tell has every stream say something.
func (s *Server) tell(say func(protocol)) {
	for _, st := range s.streams {
		say(st.protocol)
	}
	s.wake()
}

// wake has blocked streams look again.
func (s *Server) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// nonce returns one that was never used before, on any stream.
func (s *Server) nonce() string {
	s.nonces++
	return "n" + strconv.Itoa(s.nonces)
}

// end ends the streams that fit; nil ends them without an error.
func (s *Server) end(fits func(*stream) bool, err error) {
	s.streams = slices.DeleteFunc(s.streams, func(st *stream) bool {
		if !fits(st) {
			return false
		}
		st.ended, st.err, st.out = true, err, nil
		return true
	})
	s.wake()
}

// Open is the number of streams that are open now.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.streams)
}

// Opened is the number of streams that were opened so far, and when the last was.
func (s *Server) Opened() (streams int, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened, s.lastOpened
}

// Heard reports whether a response was received on a stream that is open.
func (s *Server) Heard() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.streams, func(st *stream) bool { return st.heard })
}

// Subscribed are the names that are subscribed to on the streams that are open, of
// all types.
func (s *Server) Subscribed() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		names = append(names, st.protocol.names()...)
	}
	slices.Sort(names)
	return names
}

// Connections is the number of connections that are open now.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections
}

// Requests are the messages that were read so far, of all streams: each a
// *DiscoveryRequest or a *DeltaDiscoveryRequest, which nobody may change.
func (s *Server) Requests() []proto.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// AwaitRequest waits for a request that fits, those of the past included, and returns it. It
// returns nil when ctx ends first.
func (s *Server) AwaitRequest(ctx context.Context, fits func(proto.Message) bool) (found proto.Message) {
	i := 0
	_ = s.Await(ctx, func() bool {
		for all := s.Requests(); i < len(all) && found == nil; i++ {
			if fits(all[i]) {
				found = all[i]
			}
		}
		return found != nil
	})
	return found
}
