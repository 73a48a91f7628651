package resource

import (
	"fmt"
	"unsafe"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A DecodeContext gives a decoder the facts that are not in the bytes. It is valid only during the
// call. Resources that are decoded one after another may share it: their updates take less memory.
type DecodeContext struct {
	// Name is the resource's canonical name.
	Name xdstp.Name
	// Version is the version of the response or, in the delta protocol, of the resource.
	Version string
	// Server is the server that sent the resource. `lrs_server: self` refers to it (gRFC A47), and
	// its features decide whether it is trusted (gRFC A81).
	Server *bootstrap.Server
	// Bootstrap is the client's configuration. It decides how names are parsed and which
	// certificate providers exist. If it is nil, names are parsed with federation on.
	Bootstrap *bootstrap.Config
	// Types are the program's types and extensions. Decoders use the types for inlined resources.
	Types *Set
	// Budget bounds the memory of decoding. If it is nil, the default [Limits] of one resource
	// apply.
	Budget *wire.Budget

	side       Side
	filters    int // the number of HTTP filters around the configuration
	arena      *wire.Arena
	source     *source // of the last update
	lastPolicy lastPolicy
}

// Side returns the side whose HTTP filters are read (gRFC A39). It is the client side unless
// [DecodeContext.At] set another one.
func (dc *DecodeContext) Side() Side { return max(dc.side, ClientSide) }

// At returns a copy of the context for the given side.
func (dc *DecodeContext) At(s Side) *DecodeContext {
	out := *dc
	out.side = s
	return &out
}

// Read returns a reader of an encoded resource of the named type. The decoded update has its own
// arena until [DecodeContext.Done].
func (dc *DecodeContext) Read(message string, body []byte) wire.Reader {
	dc.arena = dc.Types.arenas(message).Get()
	if dc.Budget == nil {
		dc.Budget = dc.arena.Budget()
		dc.Types.Start(dc.Budget, Limits{}.WithDefaults(), nil)
	}
	return dc.arena.Read(body, dc.Budget)
}

// Reader returns a reader of a part of the resource. The limits of the resource apply.
func (dc *DecodeContext) Reader(part []byte) wire.Reader {
	if dc == nil || dc.arena == nil {
		return dc.budget().Within(part)
	}
	return dc.arena.Read(part, dc.budget())
}

// Arena returns the arena of the update that [DecodeContext.Read] began. It allocates the update's
// slices and strings.
func (dc *DecodeContext) Arena() *wire.Arena { return dc.arena }

// Done ends the update that [DecodeContext.Read] began. The next resource reuses the memory that
// the update does not keep.
func (dc *DecodeContext) Done(message string) {
	if dc.Budget == dc.arena.Budget() {
		dc.Budget = nil
	}
	dc.Types.arenas(message).Put(dc.arena)
	dc.arena = nil
}

// Meta returns the metadata of an update that is decoded from body. It keeps body, which nobody may
// change afterwards.
func (dc *DecodeContext) Meta(body []byte) Meta {
	raw := unsafe.String(unsafe.SliceData(body), len(body)) //nolint:gosec // nobody changes body
	if s := dc.source; s == nil || s.version != dc.Version || s.server != dc.Server {
		dc.source = &source{dc.Version, dc.Server}
	}
	return Meta{name: dc.Name, raw: raw, source: dc.source}
}

// ParseName parses a name by the client's rules.
func (dc *DecodeContext) ParseName(s string) (xdstp.Name, error) {
	if dc.Bootstrap == nil {
		return xdstp.Parse(s)
	}
	return dc.Bootstrap.ParseName(s)
}

// Ref replaces the name at p by its canonical form and records that m's resource refers to it. It
// ignores an empty name. A malformed name, or a name of another type, is a violation.
func (dc *DecodeContext) Ref(m *Meta, v *Violations, p Path, message string, name *string) {
	if *name == "" {
		return
	}
	n, err := dc.ParseName(*name)
	if err == nil {
		err = n.CheckType(message)
	}
	if err != nil {
		v.Add(p, *name, "must name a "+message+": "+err.Error())
		return
	}
	*name = n.String()
	m.addRef(Ref{Type: message, Name: n})
}

// Inline decodes a resource that is inlined in another one, such as the routes in a Listener. Its
// type must be registered. The outer resource inherits its references and its violations. The
// inlined resource has the name of the outer one.
func (dc *DecodeContext) Inline(m *Meta, v *Violations, p Path, message string, body []byte) Update {
	t, ok := dc.lookup(message)
	if !ok {
		v.Add(p, nil, fmt.Sprintf("cannot be read, %v %s; register its plugin", ErrUnknownType, message))
		return nil
	}
	inner := *dc
	u, err := t.Decode(&inner, body)
	if err != nil {
		v.AddError(p, err)
		return nil
	}
	for r := range u.Refs() {
		m.addRef(r)
	}
	return u
}

func (dc *DecodeContext) lookup(message string) (*Descriptor, bool) {
	if dc.Types == nil {
		return nil, false
	}
	return dc.Types.Lookup(message)
}
