package resource

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A DecodeContext is what a decoder knows beyond the bytes. It is valid during
// the call only, and belongs to one resource.
type DecodeContext struct {
	// Name is the resource's canonical name.
	Name xdstp.Name
	// Version is the version of the response or resource.
	Version string
	// Server is the entry that the resource came from: what `lrs_server: self`
	// means (gRFC A47), and who is trusted (gRFC A81).
	Server *bootstrap.Server
	// Bootstrap is the client's configuration: how names are read, which
	// certificate providers exist. Nil reads names as with federation on.
	Bootstrap *bootstrap.Config
	// Types are the program's types, for resources inlined in others, and its
	// extensions.
	Types *Set
	// Budget bounds the memory that decoding takes. Nil: the default [Limits] of one
	// resource hold.
	Budget *wire.Budget

	side  Side
	arena *wire.Arena
}

// Side is whose HTTP filters are read (gRFC A39): the client's, unless the context
// is one of [DecodeContext.At].
func (dc *DecodeContext) Side() Side { return max(dc.side, ClientSide) }

// At is the same context for what one side is to do.
func (dc *DecodeContext) At(s Side) *DecodeContext {
	out := *dc
	out.side = s
	return &out
}

// Read is a reader of an encoded resource of the type with a name. The update of what
// is read has an arena of its own, until [DecodeContext.Done].
func (dc *DecodeContext) Read(message string, body []byte) wire.Reader {
	dc.arena = dc.Types.arenas(message).Get()
	if dc.Budget == nil {
		dc.Budget = dc.arena.Budget()
		dc.Types.Start(dc.Budget, Limits{}.WithDefaults(), nil)
	}
	return dc.arena.Read(body, dc.Budget)
}

// Reader is a reader of a part of the resource, within its limits.
func (dc *DecodeContext) Reader(part []byte) wire.Reader { return dc.budget().Within(part) }

// Arena makes slices and texts for the update that [DecodeContext.Read] began.
func (dc *DecodeContext) Arena() *wire.Arena { return dc.arena }

// Done ends what [DecodeContext.Read] began, so that the next resource uses what the
// update does not keep.
func (dc *DecodeContext) Done(message string) {
	if dc.Budget == dc.arena.Budget() {
		dc.Budget = nil
	}
	dc.Types.arenas(message).Put(dc.arena)
	dc.arena = nil
}

// Meta is the metadata for an update that is decoded from body.
func (dc *DecodeContext) Meta(body []byte) Meta {
	return Meta{name: dc.Name, version: dc.Version, raw: body, server: dc.Server}
}

// ParseName reads a name as the client does.
func (dc *DecodeContext) ParseName(s string) (xdstp.Name, error) {
	if dc.Bootstrap == nil {
		return xdstp.Parse(s)
	}
	return dc.Bootstrap.ParseName(s)
}

// Ref makes the name of another resource, found at p, canonical and remembers
// that m's resource refers to it. The empty name refers to nothing. A name that
// is malformed or of another type is a violation.
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

// Inline decodes a resource of a registered type that is carried within
// another, as a Listener carries routes. The outer resource refers to whatever
// the inner one refers to, and has its violations. An inlined resource has the
// name of the resource that carries it.
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

// Unparseable is the error of a decoder whose bytes are not the message.
func Unparseable(message string, err error) error {
	return fmt.Errorf("not a %s: %w", message, err)
}

// PeekString reads the string field with the given number from an encoded
// message without decoding the rest. As in protobuf, the last occurrence wins;
// a missing field is the empty string.
func PeekString(body []byte, number protowire.Number) (string, error) {
	var found []byte
	for len(body) > 0 {
		num, typ, n := protowire.ConsumeTag(body)
		if n < 0 {
			return "", protowire.ParseError(n)
		}
		body = body[n:]
		if num == number && typ == protowire.BytesType {
			v, n := protowire.ConsumeBytes(body)
			if n < 0 {
				return "", protowire.ParseError(n)
			}
			found, body = v, body[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(num, typ, body); n < 0 {
			return "", protowire.ParseError(n)
		}
		body = body[n:]
	}
	return string(found), nil
}
