package model

import (
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// Use is a set of ways in which a decoder uses a field, a oneof or a message.
type Use uint8

// The ways.
const (
	Read     Use = 1 << iota // its value, or a field of the message
	Presence                 // whether the field or oneof is set
	Member                   // which member of the oneof is set
	Encoded                  // the field's message as bytes
	Whole                    // hooks are given the message
	Socket                   // a conversion reads the message as an address
	Given                    // hooks get the well-known type, and may keep it
)

// Uses are the uses by full name. The builder notes them as it resolves paths, and views
// of wire decoders have exactly these fields.
type Uses map[protoreflect.FullName]Use

// Has reports whether one of the uses was noted.
func (u Uses) Has(d protoreflect.Descriptor, use Use) bool { return u[d.FullName()]&use != 0 }

func (u Uses) add(d protoreflect.Descriptor, use Use) {
	u[d.FullName()] |= use
	if d.Parent() != nil && use&(Read|Presence|Member|Encoded) != 0 {
		u[d.Parent().FullName()] |= Read
	}
}

// field notes that a field is read if there is one, and of a wrapper its value.
func (u Uses) field(f *protogen.Field) {
	if f != nil {
		u.add(f.Desc, Read)
	}
	if isWrapper(f) {
		u.field(f.Message.Fields[0])
	}
}

// read notes that the value at a path is read.
func (u Uses) read(p Path) {
	for _, s := range p.Steps {
		u.field(s.Field)
		u.field(s.Part)
	}
}

// presence notes that the presence of the value at a path is tested.
func (u Uses) presence(p Path) {
	u.read(p)
	switch o, leaf := p.Oneof(), p.Leaf(); {
	case o != nil:
		u.add(o.Desc, Read|Presence)
	case leaf != nil && leaf.Message == nil && leaf.Desc.HasPresence():
		u.add(leaf.Desc, Presence)
	}
}

// hooked notes that a hook is given a message.
func (u Uses) hooked(m *protogen.Message) {
	switch {
	case m == nil:
	case Native(m) != "":
		u.add(m.Desc, Given)
	case IsWrapper(m):
		u.field(m.Fields[0])
	default:
		u.add(m.Desc, Whole)
	}
}

// needs notes the arguments of a hook. Without needs, it is given the message of.
func (u Uses) needs(h Hook, of *protogen.Message) {
	for _, n := range h.Needs {
		switch {
		case n.Field != nil:
		case h.Encoded && n.Message():
			u.encoded(n.Path)
		default:
			u.asked(n.Path)
		}
	}
	if len(h.Needs) == 0 {
		u.hooked(of)
	}
}

// asked notes that a hook is given the value at a path.
func (u Uses) asked(p Path) {
	u.read(p)
	switch o, leaf := p.Oneof(), p.Leaf(); {
	case o != nil:
		u.add(o.Desc, Read|Member)
	case leaf != nil && leaf.Desc.IsMap():
		u.hooked(leaf.Message.Fields[1].Message)
	case leaf != nil && leaf.Message != nil && Native(leaf.Message) != "":
		u.add(leaf.Desc, Given)
	case leaf != nil:
		u.hooked(leaf.Message)
	}
}

// encoded notes that the message at a path is taken as bytes.
func (u Uses) encoded(p Path) {
	leaf := p.Leaf()
	u.read(p.Parent())
	u.add(leaf.Desc, Encoded)
	if leaf.Oneof != nil && !leaf.Oneof.Desc.IsSynthetic() {
		u.add(leaf.Oneof.Desc, Read)
	}
}

// conversion notes the fields that a conversion reads in a message.
func (u Uses) conversion(c descriptor.Conversion, m *protogen.Message) {
	switch {
	case len(c.Inputs) > 0:
		for _, input := range c.Inputs {
			for _, path := range input.Paths {
				u.asked(InputPath(m, path))
			}
		}
	case c.Takes == "envoy.config.core.v3.Address":
		u.add(m.Desc, Socket)
		u.read(InputPath(m, "socket_address.address"))
		u.read(InputPath(m, "socket_address.port_value"))
		u.presence(InputPath(m, "socket_address.named_port"))
	case c.Func != "":
		for _, f := range m.Fields {
			u.field(f)
		}
	}
}

// InputPath resolves a path that the table of conversions states.
func InputPath(m *protogen.Message, path string) Path {
	p := Path{From: m}
	for name := range strings.SplitSeq(path, ".") {
		f, o := fieldOf(m, name)
		p.Steps = append(p.Steps, Step{Field: f, Oneof: o})
		if f != nil {
			m = f.Message
		}
	}
	return p
}

// fieldUses notes the uses of a field of a struct that is made of the message of.
func (u Uses) fieldUses(f *Field, of *protogen.Message) {
	switch v := f.Value.(type) {
	case HookOf:
		u.needs(v.Hook, of)
		return
	case InlineOf:
		u.encoded(f.Paths[0])
		return
	case Converted:
		u.conversion(v.Conversion, f.element().Message())
	}
	for _, p := range f.Paths {
		if f.Optional || f.Default != nil {
			u.presence(p)
		} else {
			u.read(p)
		}
	}
}

// lateHooks finds the hooks of the resource's message that are only called in one profile.
// If nothing else needs the whole message, a wire decoder unmarshals it only there.
func (b *builder) lateHooks() {
	root, uses := b.pkg.Message, b.pkg.Uses
	if b.pkg.Update.Rules == nil {
		return
	}
	hooks := slice.Filter(b.pkg.Update.Rules.Checks, func(c *Check) bool {
		return c.Rule == nil && len(c.Hook.Needs) == 0 && len(c.Path.Steps) == 0
	})
	if len(hooks) == 0 {
		return
	}
	profiles := slice.Map(hooks, func(c *Check) string { return c.When.Profile })
	if slices.Contains(profiles, "") || uses.Has(root.Desc, Whole) || !uses.Has(root.Desc, Read) {
		uses.hooked(root)
		return
	}
	slices.Sort(profiles)
	b.pkg.Late = slices.Compact(profiles)
}

// wireFields checks that a wire decoder can read all fields of the messages that it reads. Messages of proto3 have no
// other fields.
func (b *builder) wireFields() {
	at, uses := b.desc.Resource.Decoder, b.pkg.Uses
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		m, err := b.index.Message(string(name))
		if err != nil || !uses.Has(m.Desc, Read) {
			continue // not a message, or one that protobuf unmarshals
		}
		for _, f := range m.Fields {
			fault := ""
			switch {
			case f.Desc.Cardinality() == protoreflect.Required:
				fault = "is required"
			case f.Desc.Kind() == protoreflect.GroupKind:
				fault = "is a group"
			case f.Enum != nil && f.Enum.Desc.IsClosed():
				fault = "is a closed enum"
			}
			b.requireHint(fault == "", at, diag.NoWireDecoder, "write decoder: message", "decoder: wire cannot read %s, which %s", f.Desc.FullName(), fault)
		}
	}
}

// Native returns the function of package wire that reads a well-known type. A view holds
// such a type as its protobuf struct. It returns "" for other types.
func Native(m *protogen.Message) string {
	switch name := m.Desc.FullName(); name {
	case "google.protobuf.Any", "google.protobuf.Duration", "google.protobuf.Timestamp":
		return string(name.Name())
	}
	return ""
}
