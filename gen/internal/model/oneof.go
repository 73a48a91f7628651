package model

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// oneof builds the closed interface of a field of s.
func (b *builder) oneof(s *Struct, d *descriptor.Field) (*Oneof, bool) {
	o := &Oneof{Pos: d.Name.Pos, Name: cmp.Or(d.Type.Value, d.Name.Value), Doc: d.Doc.Value, Message: s.Message}
	if !b.typeName(d.Type) {
		return nil, false
	}
	ok := true
	for i := range d.Oneof {
		c, fine := b.oneofCase(s, &d.Oneof[i])
		if ok = ok && fine; !fine {
			continue
		}
		for _, before := range o.Cases {
			if before.Type == c.Type {
				b.bag.Add(c.Pos, diag.NameClash, "oneof %s has two cases %s, the first in line %d", o.Name, c.Type, before.Line)
				ok = false
			}
		}
		b.deadCase(o, c)
		o.Cases = append(o.Cases, c)
		if c.Struct != nil {
			c.Struct.Cases = append(c.Struct.Cases, o)
		}
	}
	if len(d.Oneof) == 0 {
		b.bag.Add(d.Pos, diag.BadValue, "oneof %s has no cases", o.Name)
		return nil, false
	}
	b.pkg.Oneofs = append(b.pkg.Oneofs, o)
	return o, ok
}

// typeName checks a type that is to be declared.
func (b *builder) typeName(t descriptor.Text) bool {
	if t.Given() && !isExportedName(t.Value) {
		b.bag.Add(t.Pos, diag.BadIdentifier, "type = %q; must be an exported Go identifier", t.Value)
		return false
	}
	return true
}

// deadCase notes a case that those before it leave nothing to.
func (b *builder) deadCase(o *Oneof, c *Case) {
	for _, before := range o.Cases {
		switch {
		case before.When.Empty() && before.Any == nil:
			b.bag.Add(c.Pos, diag.DeadCase, "case %s can never apply: case %s before it always does", c.Type, before.Type)
			return
		case before.takes(c):
			b.bag.Add(c.Pos, diag.DeadCase, "case %s can never apply: case %s before it applies to the same messages", c.Type, before.Type)
			return
		}
	}
}

// takes reports whether c applies wherever other, which has the same condition,
// does. Cases that open one Any share it.
func (c *Case) takes(other *Case) bool {
	if !SameCond(c.When, other.When) {
		return false
	}
	if c.Path == nil || c.Hook != nil {
		return true
	}
	if other.Path != nil && c.Path.String() == other.Path.String() {
		return c.Any == nil || other.Any == nil || c.Any == other.Any
	}
	return slices.ContainsFunc(c.When.Tests, func(t Test) bool {
		return t.Kind == Present && t.Path.String() == c.Path.String()
	})
}

// SameCond reports whether two conditions are the same.
func SameCond(a, b Cond) bool { return a.key() == b.key() }

func (b *builder) oneofCase(s *Struct, d *descriptor.Case) (*Case, bool) {
	c := &Case{Pos: d.Case.Pos, Type: d.Case.Value}
	m, ok := b.caseMessage(s, c, d)
	if !ok {
		return nil, false
	}
	if d.When != nil {
		if c.When, ok = b.localCond(d.When, s.Message); !ok {
			return nil, false
		}
	} else if c.Path != nil {
		b.pkg.Uses.presence(*c.Path)
		c.When = Cond{Tests: []Test{{Kind: Present, Path: *c.Path}}}
	}
	if c.Path != nil && c.Hook == nil && !d.Hook.Given() {
		b.pkg.Uses.read(*c.Path)
	}
	switch {
	case d.Hook.Given() && d.Any.Given():
		b.bag.AddHint(d.Any.Pos, diag.Conflict, "let the hook open it", "case %s cannot have both `any` and `hook`", c.Type)
		return nil, false
	case d.Hook.Given():
		var paths []Path
		if c.Path != nil {
			paths = []Path{*c.Path}
		}
		h, ok := b.hook(&Struct{Name: "a case", Message: s.Message}, d.Hook, d.Needs, paths, descriptor.Text{Pos: d.Case.Pos, Value: c.Type})
		c.Hook = &h
		if ok {
			b.pkg.Uses.needs(h, s.Message)
		}
		return c, ok
	case d.Struct.Given():
		if d.Struct.Value != c.Type {
			b.bag.Add(d.Struct.Pos, diag.Conflict, "case %s has the struct %s: both must have the same name", c.Type, d.Struct.Value)
			return nil, false
		}
		if b.keepIf(c.Type) {
			b.bag.Add(d.Struct.Pos, diag.BadKeep, "struct %s has a keep_if, but only `each` can drop elements", c.Type)
			return nil, false
		}
		c.Struct, ok = b.use(d.Struct, m)
		return c, ok
	}
	c.Struct = &Struct{Pos: c.Pos, Name: c.Type, Doc: d.Doc.Value, Message: m}
	b.pkg.Structs = append(b.pkg.Structs, c.Struct)
	b.waiting = append(b.waiting, waiting{s: c.Struct, fields: d.Fields})
	return c, true
}

// caseMessage is the message that a case is made of.
func (b *builder) caseMessage(s *Struct, c *Case, d *descriptor.Case) (*protogen.Message, bool) {
	if !d.From.Given() {
		return s.Message, true
	}
	p, ok := b.fieldPath(d.From, s.Message)
	if !ok {
		return nil, false
	}
	c.Path = &p
	switch {
	case p.Many():
		b.bag.Add(d.From.Pos, diag.WrongShape, "%s has many values, but a case is decoded from one", d.From.Value)
		return nil, false
	case d.Any.Given() && p.Class() != Any:
		b.bag.Add(d.Any.Pos, diag.WrongShape, "`any` needs a google.protobuf.Any, but %s is %s", d.From.Value, p.Class())
		return nil, false
	case d.Any.Given():
		c.Typed = d.Typed.Value
		c.Any, ok = b.message(d.Any, d.Go)
		return c.Any, ok
	case p.Message() == nil && !d.Hook.Given():
		b.bag.AddHint(d.From.Pos, diag.WrongShape, "replace `from` by `when: {present: "+d.From.Value+"}`", "%s is %s, but a case is decoded from a message", d.From.Value, p.Class())
		return nil, false
	}
	return p.Message(), true
}
