package model

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// oneof builds the closed interface of a field of s.
func (b *builder) oneof(s *Struct, d *descriptor.Field) *Oneof {
	o := &Oneof{Pos: d.Name.Pos, Name: cmp.Or(d.Type.Value, d.Name.Value), Doc: d.Doc.Value, Message: s.Message}
	b.typeName(d.Type)
	b.require(len(d.Oneof) > 0, descriptor.Text{Pos: d.Pos}, diag.BadValue, "oneof %s has no cases", o.Name)
	b.pkg.Oneofs = append(b.pkg.Oneofs, o)
	each(d.Oneof, func(d descriptor.Case) { b.addCase(o, b.oneofCase(s, &d)) })
	return o
}

// addCase adds a case to a oneof.
func (b *builder) addCase(o *Oneof, c *Case) {
	i := slices.IndexFunc(o.Cases, func(before *Case) bool { return before.Type == c.Type })
	b.deadCase(o, c)
	o.Cases = append(o.Cases, c)
	if c.Struct != nil {
		c.Struct.Cases = append(c.Struct.Cases, o)
	}
	if i >= 0 {
		panic(b.fault(c.Pos, diag.NameClash, "", "oneof %s has two cases %s, the first in line %d", o.Name, c.Type, o.Cases[i].Line))
	}
}

// typeName checks a type that is to be declared.
func (b *builder) typeName(t descriptor.Text) {
	b.require(!t.Given() || isExportedName(t.Value), t, diag.BadIdentifier, "type = %q; must be an exported Go identifier", t.Value)
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

func (b *builder) oneofCase(s *Struct, d *descriptor.Case) *Case {
	c := &Case{Pos: d.Case.Pos, Type: d.Case.Value}
	m := b.caseMessage(s, c, d)
	if d.When != nil {
		c.When = b.localCond(d.When, s.Message)
	} else if c.Path != nil {
		b.pkg.Uses.presence(*c.Path)
		c.When = Cond{Tests: []Test{{Kind: Present, Path: *c.Path}}}
	}
	if d.Hook.Given() {
		b.requireHint(!d.Any.Given(), d.Any, diag.Conflict, "let the hook open it", "case %s cannot have both `any` and `hook`", c.Type)
		var paths []Path
		if c.Path != nil {
			paths = []Path{*c.Path}
		}
		h := b.hook(&Struct{Name: "a case", Message: s.Message}, d.Hook, d.Needs, paths, descriptor.Text{Pos: d.Case.Pos, Value: c.Type})
		b.pkg.Uses.needs(h, s.Message)
		c.Hook = &h
		return c
	}
	if c.Path != nil {
		b.pkg.Uses.read(*c.Path)
	}
	if d.Struct.Given() {
		b.require(d.Struct.Value == c.Type, d.Struct, diag.Conflict, "case %s has the struct %s: both must have the same name", c.Type, d.Struct.Value)
		b.notKept(d.Struct)
		c.Struct = b.use(d.Struct, m)
		return c
	}
	c.Struct = b.newStruct(&descriptor.Struct{Name: d.Case, Doc: d.Doc, Fields: d.Fields}, m)
	return c
}

// caseMessage is the message that a case is made of.
func (b *builder) caseMessage(s *Struct, c *Case, d *descriptor.Case) *protogen.Message {
	if !d.From.Given() {
		return s.Message
	}
	p := b.fieldPath(d.From, s.Message)
	c.Path = &p
	b.require(!p.Many(), d.From, diag.WrongShape, "%s has many values, but a case is decoded from one", d.From.Value)
	if d.Any.Given() {
		b.require(p.Class() == Any, d.Any, diag.WrongShape, "`any` needs a google.protobuf.Any, but %s is %s", d.From.Value, p.Class())
		c.Any, c.Typed = b.message(d.Any, d.Go), d.Typed.Value
		return c.Any
	}
	b.requireHint(p.Message() != nil || d.Hook.Given(), d.From, diag.WrongShape, "replace `from` by `when: {present: "+d.From.Value+"}`", "%s is %s, but a case is decoded from a message", d.From.Value, p.Class())
	return p.Message()
}
