package model

import (
	"go/ast"
	"slices"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

func (b *builder) keep(s *Struct, d *descriptor.Keep) *Keep {
	k := b.kept(s, d)
	if k != nil {
		k.Profile = d.Profile.Value
	}
	return k
}

func (b *builder) kept(s *Struct, d *descriptor.Keep) *Keep {
	switch {
	case d.Positive.Given():
		if f := b.fieldNamed(s, d.Positive, (*Field).number, "a number or duration"); f != nil {
			return &Keep{Positive: f}
		}
	case d.NonEmpty.Given():
		if f := b.fieldNamed(s, d.NonEmpty, (*Field).hasLen, "a list, a map or text"); f != nil {
			return &Keep{NonEmpty: f}
		}
	case d.Present.Given():
		if p, ok := b.path(d.Present, s.Message); ok && b.single(d.Present, p) {
			b.pkg.Uses.presence(p)
			return &Keep{Present: &Test{Kind: Present, Path: p}}
		}
	}
	return nil
}

func (b *builder) stop(s *Struct, d *descriptor.Stop) *Stop {
	f := b.fieldNamed(s, d.NonEmpty, (*Field).hasLen, "a list, a map or text")
	if f == nil {
		return nil
	}
	return &Stop{NonEmpty: f, Profile: d.Profile.Value}
}

// fieldNamed is the field of s with a name, which must fit.
func (b *builder) fieldNamed(s *Struct, t descriptor.Text, fits func(*Field) bool, what string) *Field {
	for _, f := range s.Fields {
		if f.Name == t.Value {
			if fits(f) {
				return f
			}
			b.bag.Add(t.Pos, diag.BadKeep, "field %s of %s is not %s", f.Name, s.Name, what)
			return nil
		}
	}
	b.unknownField(t, t.Value, s)
	return nil
}

// unknownField notes that s has no field of this name, unless it has one that
// something was said of already.
func (b *builder) unknownField(t descriptor.Text, name string, s *Struct) {
	if !slices.Contains(s.faulty, name) {
		b.bag.AddHint(t.Pos, diag.UnknownField, diag.Suggest(name, fieldNames(s)), "unknown field %q in %s", name, s.Name)
	}
}

func (f *Field) number() bool {
	v, ok := f.Value.(Plain)
	return ok && !f.List && !f.IsMap() && !f.Optional && (v.Class.Number() || v.Class == Duration)
}

func (f *Field) hasLen() bool {
	if f.List || f.IsMap() {
		return true
	}
	switch v := f.Value.(type) {
	case Plain:
		return !f.Optional && (v.Class == String || v.Class == Bytes || v.Class == JSON || v.Class == JSONList)
	case Converted:
		return v.Conversion.Type == "string"
	case HookOf:
		id, ok := v.Hook.Type.Expr.(*ast.Ident)
		return ok && id.Name == "string" && !f.Optional
	}
	return false
}

func fieldNames(s *Struct) []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}
