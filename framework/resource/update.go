package resource

import (
	"iter"
	"slices"
	"unsafe"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// An Update is one decoded and validated resource. Implementations are pointers to immutable
// values, so that == compares them. All methods are safe for concurrent use.
type Update interface {
	// Name returns the resource's canonical name.
	Name() xdstp.Name
	// Version returns the version of the response (or, in the delta protocol, of the resource) in
	// which the client first received these bytes.
	Version() string
	// Raw returns the encoded message as received. The caller must not change it.
	Raw() []byte
	// Server returns the entry of the bootstrap file for the server that sent the resource.
	Server() *bootstrap.Server
	// Refs yields the resources to which this one refers, in the order of their first mention and
	// without duplicates. It includes the references of inlined resources.
	Refs() iter.Seq[Ref]
}

// A Ref is a reference to another resource: from a cluster to its endpoints, or from a route to its
// clusters.
type Ref struct {
	// Type is the full name of the message, as in
	// "envoy.config.endpoint.v3.ClusterLoadAssignment".
	Type string
	// Name is the resource's canonical name.
	Name xdstp.Name
}

// String returns "type name" for logs, clipped and escaped.
func (r Ref) String() string { return r.Type + " " + printable.Text(r.Name.String(), printable.Quoted) }

// Meta carries the properties that all updates share. Generated updates hold one, made by
// [DecodeContext.Meta], and forward to it.
type Meta struct {
	name   xdstp.Name
	raw    string // the bytes as a string, which takes less memory than a slice
	source *source
	refs   *metaRefs // nil without refs
}

// A source is the response that a resource was in. The resources of a response share it.
type source struct {
	version string
	server  *bootstrap.Server
}

// metaRefs are the resources to which a resource refers. Most resources refer to none or one.
type metaRefs struct {
	first Ref
	more  *moreRefs // nil without further refs
}

// moreRefs are the refs after the first one.
type moreRefs struct {
	list  []Ref
	known map[Ref]struct{} // of list, if it is long
}

// Name returns the resource's canonical name. All methods return zero values for a nil Meta.
func (m *Meta) Name() xdstp.Name {
	if m == nil {
		return xdstp.Name{}
	}
	return m.name
}

// Version returns the version in which the client first received these bytes.
func (m *Meta) Version() string {
	if m == nil || m.source == nil {
		return ""
	}
	return m.source.version
}

// Raw returns the encoded message as received.
func (m *Meta) Raw() []byte {
	if m == nil {
		return nil
	}
	return unsafe.Slice(unsafe.StringData(m.raw), len(m.raw)) //nolint:gosec // it has these bytes
}

// Server returns the entry of the bootstrap file for the server that sent the resource.
func (m *Meta) Server() *bootstrap.Server {
	if m == nil || m.source == nil {
		return nil
	}
	return m.source.server
}

// Refs yields the resources to which this one refers.
func (m *Meta) Refs() iter.Seq[Ref] {
	return func(yield func(Ref) bool) {
		if m == nil || m.refs == nil || !yield(m.refs.first) || m.refs.more == nil {
			return
		}
		slices.Values(m.refs.more.list)(yield)
	}
}

// fewRefs is the number of refs up to which addRef scans instead of using a map. Most updates have
// fewer. A control plane may send many.
const fewRefs = 32

// addRef records r unless it is known.
func (m *Meta) addRef(r Ref) {
	switch {
	case m.refs == nil:
		m.refs = &metaRefs{first: r}
	case m.refs.first == r:
	case m.refs.more == nil:
		m.refs.more = &moreRefs{list: []Ref{r}}
	default:
		m.refs.more.add(r)
	}
}

func (m *moreRefs) add(r Ref) {
	if m.known == nil && len(m.list) >= fewRefs {
		m.known = make(map[Ref]struct{}, 2*fewRefs)
		for _, old := range m.list {
			m.known[old] = struct{}{}
		}
	}
	if m.known == nil {
		if !slices.Contains(m.list, r) {
			m.list = append(m.list, r)
		}
		return
	}
	if _, ok := m.known[r]; !ok {
		m.known[r] = struct{}{}
		m.list = append(m.list, r)
	}
}

// State is the state of a resource at one moment (gRFC A88).
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

// Known reports whether the state has anything to report to a watcher.
func (s State) Known() bool { return s.Update != nil || s.Err != nil || s.Origin != OriginNone }
