package model

import (
	"slices"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// keep builds the condition of a struct for keeping elements, if it has one.
func (b *builder) keep(s *Struct, d *descriptor.Keep) *Keep {
	if d == nil {
		return nil
	}
	k := &Keep{Profile: d.Profile.Value}
	switch {
	case d.Positive.Given():
		k.Positive = b.fieldNamed(d.Positive, d.Positive.Value, s)
		b.require(k.Positive.number(), d.Positive, diag.BadKeep, "field %s of %s is not a number or duration", d.Positive.Value, s.Name)
	case d.NonEmpty.Given():
		k.NonEmpty = b.lenField(s, d.NonEmpty)
	default:
		p := b.path(d.Present, s.Message)
		b.single(d.Present, p)
		b.pkg.Uses.presence(p)
		k.Present = &Test{Kind: Present, Path: p}
	}
	return k
}

func (b *builder) stop(s *Struct, d *descriptor.Stop) *Stop {
	if d == nil {
		return nil
	}
	return &Stop{NonEmpty: b.lenField(s, d.NonEmpty), Profile: d.Profile.Value}
}

// lenField is the field of s with a name, which must have a length.
func (b *builder) lenField(s *Struct, t descriptor.Text) *Field {
	f := b.fieldNamed(t, t.Value, s)
	b.require(f.hasLen(), t, diag.BadKeep, "field %s of %s is not a list, a map or text", f.Name, s.Name)
	return f
}

// fieldNamed is the field of s with a name. A field that was reported already is not reported again.
func (b *builder) fieldNamed(t descriptor.Text, name string, s *Struct) *Field {
	for _, f := range s.Fields {
		if f.Name == name {
			return f
		}
	}
	b.requireHint(slices.Contains(s.faulty, name), t, diag.UnknownField, diag.Suggest(name, fieldNames(s)), "unknown field %q in %s", name, s.Name)
	panic(fault(""))
}

func (f *Field) number() bool {
	v, ok := f.Value.(Plain)
	return ok && !f.List && !f.IsMap() && !f.Optional && (v.Class.Number() || v.Class == Duration)
}

func (f *Field) hasLen() bool {
	return slices.Contains([]Class{Map, String, Bytes, JSON, JSONList}, f.ZeroClass())
}

func fieldNames(s *Struct) []string {
	return slice.Map(s.Fields, func(f *Field) string { return f.Name })
}
