package sourced

import (
	"fmt"
	"io"
	"strings"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/adsserver"
)

// A Scheme opens Sources for server entries whose URI has its name as the scheme.
type Scheme struct {
	// Name is the scheme, such as "memory". It is not case-sensitive.
	Name string
	// Open returns the Source of an entry. The connection closes the Source if it is an io.Closer.
	Open func(server *bootstrap.Server) (source.Source, error)
}

// Memory is the scheme "memory". The URI "memory:name" stands for the Source of that name.
func Memory(sources map[string]*source.Memory) Scheme {
	return Scheme{Name: "memory", Open: func(server *bootstrap.Server) (source.Source, error) {
		_, name, _ := strings.Cut(server.URI(), ":")
		if m := sources[name]; m != nil {
			return shared{m}, nil
		}
		return nil, fmt.Errorf("memory = %q; must be the name of a source that the program has", name)
	}}
}

// shared hides the methods of a Source that the program owns, apart from those of the interface.
type shared struct{ source.Source }

// Transport returns a transport that connects entries of the given schemes to their Sources, and all
// others by next. A nil next fails for these.
func Transport(next transport.Transport, schemes ...Scheme) transport.Transport {
	t := &mux{next: next, schemes: make(map[string]Scheme, len(schemes))}
	for _, s := range schemes {
		t.schemes[strings.ToLower(s.Name)] = s
	}
	return t
}

// A mux chooses by scheme.
type mux struct {
	next    transport.Transport
	schemes map[string]Scheme
}

var _ transport.DeltaTransport = (*mux)(nil)

// Dial implements [transport.Transport].
func (t *mux) Dial(server *bootstrap.Server) (transport.Conn, error) {
	scheme, ok := t.scheme(server)
	switch {
	case ok:
	case t.next == nil:
		return nil, fmt.Errorf("sourced: server_uri = %q; must have a scheme that the program supports", server.URI())
	default:
		return t.next.Dial(server)
	}
	s, err := scheme.Open(server)
	if err != nil {
		return nil, fmt.Errorf("sourced: server %s: %w", server.URI(), err)
	}
	core, err := adsserver.New(adsserver.Config{Source: s, EndOnDown: true})
	if err != nil {
		closeSource(s)
		return nil, fmt.Errorf("sourced: server %s: %w", server.URI(), err)
	}
	return &conn{core: core, source: s}, nil
}

// Delta implements [transport.DeltaTransport].
func (t *mux) Delta(server *bootstrap.Server) bool {
	if _, ok := t.scheme(server); ok {
		return true
	}
	next, ok := t.next.(transport.DeltaTransport)
	return ok && next.Delta(server)
}

func (t *mux) scheme(server *bootstrap.Server) (Scheme, bool) {
	name, _, found := strings.Cut(server.URI(), ":")
	s, ok := t.schemes[strings.ToLower(name)]
	return s, ok && found
}

func closeSource(s source.Source) {
	if c, ok := s.(io.Closer); ok {
		_ = c.Close() // nobody handles the error
	}
}
