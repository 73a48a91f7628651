package memoryads

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
)

// A progress is how far a client is with the responses of one type on a stream.
type progress struct {
	*asked
	delta    bool
	has      map[string]string // by name: the versions that the client accepted
	open     []content         // of responses without an ACK or NACK, oldest first
	rejected string            // message of the last answer if that was a NACK
}

// A content is the content of a response.
type content struct {
	nonce string
	has   map[string]string // versions by name
	gone  []string
}

// follow starts the progress of a type.
func (st *stream) follow(url string, a *asked, delta bool) *progress {
	p := &progress{asked: a, delta: delta, has: make(map[string]string)}
	st.progress[url] = p
	return p
}

// sent notes a response with resources, errors and removals.
func (p *progress) sent(nonce string, about []*Resource, removed []string) {
	c := content{nonce: nonce, has: make(map[string]string), gone: slices.Clone(removed)}
	for _, r := range about {
		if r.Error == nil {
			c.has[r.Name] = r.version
		} else {
			c.gone = append(c.gone, r.Name)
		}
	}
	p.open = append(p.open, c)
}

// answer notes the ACK or NACK of a response. In the state of the world, it answers earlier
// responses, too.
func (p *progress) answer(h *holdings, nonce string, problem *rpcstatus.Status) {
	i := slices.IndexFunc(p.open, func(c content) bool { return c.nonce == nonce })
	if i < 0 {
		return
	}
	first := 0
	if p.delta {
		first = i
	}
	answered := slices.Clone(p.open[first : i+1])
	p.open = slices.Delete(p.open, first, i+1)
	if p.rejected = problem.GetMessage(); problem != nil {
		return
	}
	for _, c := range answered {
		if !p.delta && h.Complete {
			clear(p.has)
		}
		for _, name := range c.gone {
			delete(p.has, name)
		}
		maps.Copy(p.has, c.has)
	}
}

// lacks says why the client has not accepted the newest resources; "" if it has.
func (p *progress) lacks(h *holdings) string {
	if p.rejected != "" {
		return "rejected the last response: " + p.rejected
	}
	newest := make(map[string]bool)
	for _, r := range h.valid() {
		newest[r.Name] = true
		if p.wants(r.Name) && p.has[r.Name] != r.version {
			return fmt.Sprintf("has not accepted the newest %q; %d responses are unanswered", r.Name, len(p.open))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.has)) {
		if (p.delta || h.Complete) && p.wants(name) && !newest[name] {
			return fmt.Sprintf("has not accepted the removal of %q; %d responses are unanswered", name, len(p.open))
		}
	}
	if len(p.open) > 0 {
		return fmt.Sprintf("has %d unanswered responses", len(p.open))
	}
	return ""
}

// wants reports whether the client subscribes to a name, by itself or in a wildcard or glob.
func (a *asked) wants(name string) bool {
	for n := range a.names {
		if n == name || covers(n, name) {
			return true
		}
	}
	return false
}

// Accepted reports whether at least one open stream subscribes to the type and every such stream is
// up to date. A stream is up to date if it has answered all responses, and has accepted the newest
// version of each resource that it subscribes to. It must also have accepted that no other resource
// exists, unless the protocol cannot say so: a state-of-the-world response of a type that is not
// complete. If not, why says which stream lacks something. The server must have the temperament
// Letter.
func (s *Server) Accepted(typeURL string) (ok bool, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lacks []string
	found := false
	for _, st := range s.streams {
		p := st.progress[typeURL]
		if p == nil || len(p.names) == 0 {
			continue
		}
		found = true
		if lack := p.lacks(s.of(typeURL)); lack != "" {
			lacks = append(lacks, fmt.Sprintf("stream %d, which subscribes to %q, %s", st.number, slices.Sorted(maps.Keys(p.names)), lack))
		}
	}
	if !found {
		return false, fmt.Sprintf("none of %d open streams subscribes to the type", len(s.streams))
	}
	return len(lacks) == 0, strings.Join(lacks, "; ")
}

// SubscribedTo returns the names of a type to which clients subscribe on open streams, sorted. "*"
// stands for the wildcard.
func (s *Server) SubscribedTo(typeURL string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if p := st.progress[typeURL]; p != nil {
			names = slices.AppendSeq(names, maps.Keys(p.names))
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
