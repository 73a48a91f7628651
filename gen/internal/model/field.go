package model

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// field builds one field of s.
func (b *builder) field(s *Struct, d *descriptor.Field) *Field {
	f := &Field{
		Pos: d.Name.Pos, Name: d.Name.Value, Doc: d.Doc.Value, Optional: d.Optional.Value, Hidden: d.Hidden.Value, Secret: d.Secret.Value,
		Paths: b.fieldPaths(s, d),
	}
	f.List = len(f.Paths) > 1 || slices.ContainsFunc(f.Paths, Path.Many)
	if len(f.Paths) > 0 && f.Paths[0].Class() == Map && !d.Hook.Given() {
		b.requireHint(!f.List, d.From[0], diag.WrongShape, "write a hook", "%s has many maps, but a field holds one", d.From[0].Value)
		f.Key = classOf(f.Paths[0].Leaf().Message.Fields[0])
	}
	f.Value = b.fieldValue(s, f, d)
	f.When = b.localCond(d.When, s.Message)
	b.optional(f, d)
	b.defaults(f, d)
	b.pkg.Uses.fieldUses(f, s.Message)
	return f
}

// fieldPaths resolves `from`, `pick` and `then`.
func (b *builder) fieldPaths(s *Struct, d *descriptor.Field) []Path {
	b.require(len(d.From) > 0 || d.Oneof != nil || d.Hook.Given() || d.Struct.Given(), descriptor.Text{Pos: d.Pos}, diag.MissingKey, "field %s has no key \"from\"", d.Name.Value)
	if d.Pick != nil {
		b.require(len(d.From) == 1, descriptor.Text{Pos: d.Pick.Pos}, diag.WrongShape, "pick needs one path, but field %s has %d", d.Name.Value, len(d.From))
	}
	paths := make([]Path, 0, len(d.From))
	for _, t := range d.From {
		b.require(d.Oneof == nil, t, diag.Conflict, "field %s is a oneof: write `from` in its cases", d.Name.Value)
		p := b.fieldPath(t, s.Message)
		if d.Pick != nil {
			p = b.pick(s, t, p, d)
		}
		b.require(len(paths) == 0 || sameLeaf(paths[0].Leaf(), p.Leaf()), t, diag.WrongShape, "%s and %s have different types, so they cannot be one list", d.From[0].Value, t.Value)
		paths = append(paths, p)
	}
	return paths
}

// pick makes the last step of p choose, and adds the steps of `then`.
func (b *builder) pick(s *Struct, t descriptor.Text, p Path, d *descriptor.Field) Path {
	m := p.Message()
	b.require(p.ToList() && !p.ManyInside() && m != nil, t, diag.WrongShape, "pick needs a repeated message, but %s is not one", t.Value)
	pick := &Pick{Pos: d.Name.Pos, Func: "pick" + strings.TrimPrefix(s.Name, updateName) + d.Name.Value}
	for _, pair := range d.Pick.Equals {
		test := b.equals(pair, m)
		b.single(pair.Key, test.Path)
		pick.Tests = append(pick.Tests, test)
	}
	p.Steps[len(p.Steps)-1].Pick = pick
	b.pkg.Picks = append(b.pkg.Picks, p.Last())
	if d.Then.Given() {
		p.Steps = append(p.Steps, b.fieldPath(d.Then, m).Steps...)
	}
	return p
}

// sameLeaf reports whether the values of two fields have the same type.
func sameLeaf(a, b *protogen.Field) bool {
	return classOf(a) == classOf(b) && a.Message == b.Message && a.Enum == b.Enum
}

// fieldValue determines the kind of the field's value.
func (b *builder) fieldValue(s *Struct, f *Field, d *descriptor.Field) Value {
	switch {
	case d.Hook.Given():
		h := b.hook(s, d.Hook, d.Needs, f.Paths, d.Type)
		h.Encoded = d.Encoded.Value
		f.List = false
		return HookOf{h}
	case d.Oneof != nil:
		return OneofOf{b.oneof(s, d)}
	case d.As.Given():
		return b.converted(f, d)
	case d.Struct.Given(), d.Each.Given():
		return b.structValue(s, f, d)
	case len(d.Enum) > 0:
		return EnumOf{b.enum(f, d)}
	case d.Resource.Given():
		return b.inline(f, d)
	}
	return b.inferred(f, d)
}

func (b *builder) inferred(f *Field, d *descriptor.Field) Value {
	p, key := f.element(), f.structKey()
	var hint, what string
	switch c := p.Class(); c {
	case Message:
		hint, what = "name a struct for it in `"+key+"`", diag.Article(Short(p.Message()))
	case Any:
		hint, what = "name its message in `any` and a struct in `"+key+"`", "an Any"
	case Enumeration:
		hint, what = "write `enum: all`, or list its values", "an enum"
	default:
		return Plain{Class: c, Wrapper: p.Wrapper()}
	}
	panic(b.fault(d.From[0].Pos, diag.WrongShape, hint, "%s is %s, for which no Go type is known", d.From[0].Value, what))
}

func (b *builder) converted(f *Field, d *descriptor.Field) Value {
	conversions := descriptor.Conversions()
	c := conversions[slices.IndexFunc(conversions, func(c descriptor.Conversion) bool { return c.Name == d.As.Value })]
	m := f.element().Message()
	fits := m != nil && m.Desc.FullName() == c.Takes && (!f.List && !f.IsMap() || c.Func != "")
	b.require(fits, d.As, diag.Conversion, "conversion %s reads a message %s, but %s is not one", c.Name, c.Takes, d.From[0].Value)
	return Converted{c}
}

func (b *builder) structValue(s *Struct, f *Field, d *descriptor.Field) Value {
	m, v := s.Message, StructOf{}
	if len(f.Paths) > 0 {
		m = f.element().Message()
	}
	if d.Any.Given() {
		b.require(len(f.Paths) > 0 && f.element().Class() == Any, d.Any, diag.WrongShape, "`any` needs a google.protobuf.Any, but `from` leads to none")
		m = b.message(d.Any, d.Go)
		v.Any, v.Typed, v.Other = m, d.Typed.Value, d.AnyOther.Value
	}
	if m == nil {
		panic(b.fault(d.From[0].Pos, diag.WrongShape, "", "%s is %s, but a struct is decoded from a message", d.From[0].Value, f.element().Class()))
	}
	name, many := d.Struct, f.List || f.IsMap()
	if d.Each.Given() {
		name = d.Each
	}
	if many != d.Each.Given() {
		hint := "use `" + f.structKey() + "`"
		panic(b.fault(name.Pos, diag.WrongShape, hint, "%s: `struct` is for one value, `each` for lists and maps", d.From[0].Value))
	}
	v.Struct = b.use(name, m)
	if !many {
		b.notKept(name)
	}
	return v
}

// notKept checks that a struct is not declared with a keep_if.
func (b *builder) notKept(name descriptor.Text) {
	b.require(b.declared(name).KeepIf == nil, name, diag.BadKeep,
		"struct %s has a keep_if, but only `each` can drop elements", name.Value)
}

func (b *builder) inline(f *Field, d *descriptor.Field) Value {
	m, name := f.Paths[0].Message(), d.Resource.Value
	b.require(m != nil && !f.List && string(m.Desc.FullName()) == name, d.Resource, diag.WrongShape, "%s is not a single %s", d.From[0].Value, name)
	if !slices.Contains(b.pkg.Inlined, name) {
		b.pkg.Inlined = append(b.pkg.Inlined, name)
	}
	return InlineOf{m}
}
