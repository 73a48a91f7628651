package resource

import (
	"iter"
	"slices"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// An Update is one decoded and validated resource. Implementations are pointers,
// so that two of them can be compared by ==, to something immutable: every method
// may be called from any goroutine.
type Update interface {
	// Name is the resource's canonical name.
	Name() xdstp.Name
	// Version is the version that the control plane gave the response (or, in
	// the delta protocol, the resource) in which these bytes first arrived.
	Version() string
	// Raw is the encoded message as received. The caller must not change it.
	Raw() []byte
	// Server is the entry of the bootstrap file that the resource came from.
	Server() *bootstrap.Server
	// Refs are the resources that this one names, in the order of their first
	// mention and without duplicates. Those of inlined resources are included.
	Refs() iter.Seq[Ref]
}

// A Ref names another resource: a cluster its endpoints, a route its clusters.
type Ref struct {
	// Type is the full name of the message, as in
	// "envoy.config.endpoint.v3.ClusterLoadAssignment".
	Type string
	// Name is the resource's canonical name.
	Name xdstp.Name
}

// String returns "type name" for logs, clipped and escaped.
func (r Ref) String() string { return r.Type + " " + printable.Text(r.Name.String(), printable.Quoted) }

// Meta is what every update carries besides its fields. Generated updates hold
// one, made by [DecodeContext.Meta], and forward to it.
type Meta struct {
	name    xdstp.Name
	version string
	raw     []byte
	server  *bootstrap.Server
	refs    []Ref
	known   map[Ref]struct{} // of refs, where they are many
}

// Name is the resource's canonical name. It is zero, as everything else, for a nil Meta.
func (m *Meta) Name() xdstp.Name {
	if m == nil {
		return xdstp.Name{}
	}
	return m.name
}

// Version is the version in which these bytes first arrived.
func (m *Meta) Version() string {
	if m == nil {
		return ""
	}
	return m.version
}

// Raw is the encoded message as received.
func (m *Meta) Raw() []byte {
	if m == nil {
		return nil
	}
	return m.raw
}

// Server is the entry of the bootstrap file that the resource came from.
func (m *Meta) Server() *bootstrap.Server {
	if m == nil {
		return nil
	}
	return m.server
}

// Refs are the resources that this one names.
func (m *Meta) Refs() iter.Seq[Ref] {
	if m == nil {
		return func(func(Ref) bool) {}
	}
	return slices.Values(m.refs)
}

// fewRefs is how many refs are scanned for one. Most updates name fewer resources,
// and need no map; a control plane may name many.
const fewRefs = 32

// addRef remembers r unless it is known.
func (m *Meta) addRef(r Ref) {
	if m.known == nil && len(m.refs) >= fewRefs {
		m.known = make(map[Ref]struct{}, 2*fewRefs)
		for _, old := range m.refs {
			m.known[old] = struct{}{}
		}
	}
	if m.known == nil {
		if !slices.Contains(m.refs, r) {
			m.refs = append(m.refs, r)
		}
		return
	}
	if _, ok := m.known[r]; !ok {
		m.known[r] = struct{}{}
		m.refs = append(m.refs, r)
	}
}

// State is what a watcher knows of a resource at one moment (gRFC A88).
//
//	Update, nil   the resource, valid
//	Update, Err   the resource stays valid; Err is an ambient error
//	nil, Err      there is no usable resource, for the reason Err
//	nil, nil      nothing is known yet
type State struct {
	Update Update
	Err    error
	Origin Origin // of Update
}

// Known reports whether there is anything to tell a watcher.
func (s State) Known() bool { return s.Update != nil || s.Err != nil || s.Origin != OriginNone }
