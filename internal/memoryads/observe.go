package memoryads

import (
	"context"
	"maps"
	"slices"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
)

// SubscribedTo returns the names of a type to which clients subscribe on open streams, sorted. "*"
// stands for the wildcard.
func (s *Server) SubscribedTo(typeURL string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if a := st.asked[typeURL]; a != nil {
			names = slices.AppendSeq(names, maps.Keys(a.names))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Rejections returns the messages of the NACKs of a type so far, oldest first, of all streams.
func (s *Server) Rejections(typeURL string) (messages []string) {
	for _, m := range s.Requests() {
		r, ok := m.(interface {
			GetTypeUrl() string
			GetErrorDetail() *rpcstatus.Status
		})
		if ok && r.GetTypeUrl() == typeURL && r.GetErrorDetail() != nil {
			messages = append(messages, r.GetErrorDetail().GetMessage())
		}
	}
	return messages
}

// Await waits until done returns true. It calls done at once and after each change of the server.
// It returns the cause of ctx's end if that comes first.
func (s *Server) Await(ctx context.Context, done func() bool) error {
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
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
