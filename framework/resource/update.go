package resource

import (
	"iter"
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
