package model

import (
	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

func (b *builder) optional(f *Field, d *descriptor.Field) bool {
	if !f.Optional {
		return true
	}
	ok := false
	switch v := f.Value.(type) {
	case Plain:
		ok = !f.List && !f.IsMap() && f.Paths[0].Presence()
	case StructOf:
		ok = !f.List && !f.IsMap()
		v.Struct.Grouped = v.Struct.Grouped || f.Paths == nil
	}
	if !ok {
		b.bag.Add(d.Optional.Pos, diag.WrongShape, "field %s cannot be optional: its absence is nil already, or the message does not distinguish it from zero", f.Name)
	}
	return ok
}

func (b *builder) defaults(f *Field, d *descriptor.Field) bool {
	if !d.Default.Given() {
		return true
	}
	if e, ok := f.Value.(EnumOf); ok && !f.List && !f.IsMap() && !f.Optional {
		return b.enumDefault(f, e.Enum, d.Default)
	}
	v, ok := f.Value.(Plain)
	switch {
	case !ok || f.List || f.IsMap() || f.Optional:
		b.bag.Add(d.Default.Pos, diag.BadDefault, "field %s cannot have a default: only a single scalar, enum or duration that is not optional can have one", f.Name)
		return false
	case v.Class == Bool && !f.Paths[0].Presence():
		b.bag.Add(d.Default.Pos, diag.BadDefault, "field %s cannot have a default: the message does not distinguish the absence of %s from false", f.Name, d.From[0].Value)
		return false
	case d.Default.Value == "$name":
		f.SelfName = v.Class == String
		if !f.SelfName {
			b.bag.Add(d.Default.Pos, diag.BadDefault, "$name is a string, but field %s is %s", f.Name, v.Class)
		}
		return f.SelfName
	}
	l, ok := b.literal(d.Default, v.Class, nil, diag.BadDefault)
	if ok && v.Class.Number() && !f.Paths[0].Presence() && !l.zero() {
		b.bag.Warn(d.Default.Pos, diag.ZeroDefault, "field %s cannot be 0: the message does not distinguish 0 from absence, and the default %s replaces both", f.Name, l.Text)
	}
	f.Default = &l
	return ok
}

// enumDefault is the default of an enum: one of its values.
func (b *builder) enumDefault(f *Field, e *Enum, t descriptor.Text) bool {
	l, ok := b.enumLiteral(t, e.Enum)
	if !ok {
		return false
	}
	if e.Constant(l) == "" {
		b.bag.Add(t.Pos, diag.BadDefault, "default = %s; must be one of the values of %s", t.Value, e.Name)
		return false
	}
	f.Default = &l
	return true
}
