package model

import (
	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// optional checks that a field can be optional, if it is.
func (b *builder) optional(f *Field, d *descriptor.Field) {
	v, isStruct := f.Value.(StructOf)
	_, plain := f.Value.(Plain)
	fits := !f.List && !f.IsMap() && (isStruct || plain && f.Paths[0].Presence())
	b.require(fits || !f.Optional, descriptor.Text{Pos: d.Optional.Pos}, diag.WrongShape, "field %s cannot be optional: its absence is nil already, or the message does not distinguish it from zero", f.Name)
	if f.Optional && isStruct && len(f.Paths) == 0 {
		v.Struct.Grouped = true
	}
}

// defaults sets the default of a field, if it has one.
func (b *builder) defaults(f *Field, d *descriptor.Field) {
	t := d.Default
	if !t.Given() {
		return
	}
	v, plain := f.Value.(Plain)
	e, enum := f.Value.(EnumOf)
	b.require((plain || enum) && !f.List && !f.IsMap() && !f.Optional, t, diag.BadDefault, "field %s cannot have a default: only a single scalar, enum or duration that is not optional can have one", f.Name)
	if enum {
		l := b.enumLiteral(t, e.Enum.Enum)
		b.require(e.Enum.Constant(l) != "", t, diag.BadDefault, "default = %s; must be one of the values of %s", t.Value, e.Enum.Name)
		f.Default = &l
		return
	}
	b.require(v.Class != Bool || f.Paths[0].Presence(), t, diag.BadDefault, "field %s cannot have a default: the message does not distinguish the absence of %s from false", f.Name, d.From[0].Value)
	if f.SelfName = t.Value == "$name"; f.SelfName {
		b.require(v.Class == String, t, diag.BadDefault, "$name is a string, but field %s is %s", f.Name, v.Class)
		return
	}
	l := b.literal(t, v.Class, nil, diag.BadDefault)
	if v.Class.Number() && !f.Paths[0].Presence() && !l.Zero() {
		b.bag.Warn(t.Pos, diag.ZeroDefault, "field %s cannot be 0: the message does not distinguish 0 from absence, and the default %s replaces both", f.Name, l.Text)
	}
	f.Default = &l
}
