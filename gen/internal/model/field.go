package model

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// field builds one field of s.
func (b *builder) field(s *Struct, d *descriptor.Field) (*Field, bool) {
	f := &Field{Pos: d.Name.Pos, Name: d.Name.Value, Doc: d.Doc.Value, Optional: d.Optional.Value, Hidden: d.Hidden.Value, Secret: d.Secret.Value}
	paths, ok := b.fieldPaths(s, d)
	if !ok {
		return nil, false
	}
	f.Paths = paths
	for _, p := range paths {
		f.List = f.List || len(paths) > 1 || p.Many()
	}
	if len(paths) > 0 && paths[0].Class() == Map && !d.Hook.Given() {
		if f.List {
			b.bag.AddHint(d.From[0].Pos, diag.WrongShape, "write a hook", "%s has many maps, but a field holds one", d.From[0].Value)
			return nil, false
		}
		f.Key = kindClass(paths[0].Leaf().Message.Fields[0].Desc.Kind())
	}
	f.Value, ok = b.fieldValue(s, f, d)
	if !ok {
		return nil, false
	}
	if f.When, ok = b.localCond(d.When, s.Message); !ok {
		return nil, false
	}
	if !b.optional(f, d) || !b.defaults(f, d) {
		return f, false
	}
	b.pkg.Uses.fieldUses(f, s.Message)
	return f, true
}

// fieldPaths resolves `from`, `pick` and `then`.
func (b *builder) fieldPaths(s *Struct, d *descriptor.Field) ([]Path, bool) {
	if len(d.From) == 0 && d.Oneof == nil && !d.Hook.Given() && !d.Struct.Given() {
		b.bag.Add(d.Pos, diag.MissingKey, "field %s has no key \"from\"", d.Name.Value)
		return nil, false
	}
	if d.Pick != nil && len(d.From) > 1 {
		b.bag.Add(d.Pick.Pos, diag.WrongShape, "pick needs one path, but field %s has %d", d.Name.Value, len(d.From))
		return nil, false
	}
	if len(d.From) > 0 && d.Oneof != nil {
		b.bag.Add(d.From[0].Pos, diag.Conflict, "field %s is a oneof: write `from` in its cases", d.Name.Value)
		return nil, false
	}
	var paths []Path
	for _, t := range d.From {
		p, ok := b.fieldPath(t, s.Message)
		if !ok {
			return nil, false
		}
		if d.Pick != nil {
			if p, ok = b.pick(s, t, p, d); !ok {
				return nil, false
			}
		}
		if len(paths) > 0 && !sameLeaf(paths[0].Leaf(), p.Leaf()) {
			b.bag.Add(t.Pos, diag.WrongShape, "%s and %s have different types, so they cannot be one list", d.From[0].Value, t.Value)
			return nil, false
		}
		paths = append(paths, p)
	}
	return paths, true
}

// pick makes the last step of p choose, and adds the steps of `then`.
func (b *builder) pick(s *Struct, t descriptor.Text, p Path, d *descriptor.Field) (Path, bool) {
	if !p.ToList() || p.ManyInside() || p.Message() == nil {
		b.bag.Add(t.Pos, diag.WrongShape, "pick needs a repeated message, but %s is not one", t.Value)
		return p, false
	}
	m := p.Message()
	pick := &Pick{Func: "pick" + strings.TrimPrefix(s.Name, updateName) + d.Name.Value}
	for _, pair := range d.Pick.Equals {
		test, ok := b.equals(pair, m)
		if !ok || !b.single(pair.Key, test.Path) {
			return p, false
		}
		pick.Tests = append(pick.Tests, test)
	}
	p.Steps[len(p.Steps)-1].Pick = pick
	b.pkg.addPick(d.Name.Pos, p.Last())
	if !d.Then.Given() {
		return p, true
	}
	rest, ok := b.fieldPath(d.Then, m)
	p.Steps = append(p.Steps, rest.Steps...)
	return p, ok
}

func sameLeaf(a, b *protogen.Field) bool {
	switch {
	case a.Message != nil && b.Message != nil:
		return a.Message.Desc.FullName() == b.Message.Desc.FullName()
	case a.Enum != nil && b.Enum != nil:
		return a.Enum.Desc.FullName() == b.Enum.Desc.FullName()
	}
	return classOf(a) == classOf(b) && a.Message == nil && b.Message == nil
}

// fieldValue determines the kind of the field's value.
func (b *builder) fieldValue(s *Struct, f *Field, d *descriptor.Field) (Value, bool) {
	switch {
	case d.Hook.Given():
		h, ok := b.hook(s, d.Hook, d.Needs, f.Paths, d.Type)
		h.Encoded = d.Encoded.Value
		f.List = false
		return HookOf{h}, ok
	case d.Oneof != nil:
		o, ok := b.oneof(s, d)
		return OneofOf{o}, ok
	case d.As.Given():
		return b.converted(f, d)
	case d.Struct.Given(), d.Each.Given():
		return b.structValue(s, f, d)
	case len(d.Enum) > 0:
		e, ok := b.enum(f, d)
		return EnumOf{e}, ok
	case d.Resource.Given():
		return b.inline(f, d)
	}
	return b.inferred(f, d)
}

func (b *builder) inferred(f *Field, d *descriptor.Field) (Value, bool) {
	p := f.element()
	c := p.Class()
	wrong := func(hint, what string) (Value, bool) {
		b.bag.AddHint(d.From[0].Pos, diag.WrongShape, hint, "%s is %s, for which no Go type is known", d.From[0].Value, what)
		return nil, false
	}
	key := "struct"
	if f.List || f.IsMap() {
		key = "each"
	}
	switch c {
	case Message:
		return wrong("name a struct for it in `"+key+"`", diag.Article(Short(p.Message())))
	case Any:
		return wrong("name its message in `any` and a struct in `"+key+"`", "an Any")
	case Enumeration:
		return wrong("write `enum: all`, or list its values", "an enum")
	default:
		return Plain{Class: c, Wrapper: p.Wrapper()}, true
	}
}

func (b *builder) converted(f *Field, d *descriptor.Field) (Value, bool) {
	conversions := descriptor.Conversions()
	c := conversions[slices.IndexFunc(conversions, func(c descriptor.Conversion) bool { return c.Name == d.As.Value })]
	m := f.element().Message()
	if m == nil || m.Desc.FullName() != c.Takes || (f.List || f.IsMap()) && c.Func == "" {
		b.bag.Add(d.As.Pos, diag.Conversion, "conversion %s reads a message %s, but %s is not one", c.Name, c.Takes, d.From[0].Value)
		return nil, false
	}
	return Converted{c}, true
}

func (b *builder) structValue(s *Struct, f *Field, d *descriptor.Field) (Value, bool) {
	m, name := s.Message, d.Struct
	if len(f.Paths) > 0 {
		m = f.element().Message()
	}
	v := StructOf{}
	switch {
	case d.Any.Given():
		if len(f.Paths) == 0 || f.element().Class() != Any {
			b.bag.Add(d.Any.Pos, diag.WrongShape, "`any` needs a google.protobuf.Any, but `from` leads to none")
			return nil, false
		}
		var ok bool
		if m, ok = b.message(d.Any, d.Go); !ok {
			return nil, false
		}
		v.Any, v.Typed, v.Other = m, d.Typed.Value, d.AnyOther.Value
	case m == nil:
		b.bag.Add(d.From[0].Pos, diag.WrongShape, "%s is %s, but a struct is decoded from a message", d.From[0].Value, f.element().Class())
		return nil, false
	}
	if d.Each.Given() {
		name = d.Each
	}
	if many := f.List || f.IsMap(); many != d.Each.Given() {
		hint := "use `struct`"
		if many {
			hint = "use `each`"
		}
		b.bag.AddHint(name.Pos, diag.WrongShape, hint, "%s: `struct` is for one value, `each` for lists and maps", d.From[0].Value)
		return nil, false
	}
	var ok bool
	v.Struct, ok = b.use(name, m)
	if ok && !d.Each.Given() && b.keepIf(name.Value) {
		b.bag.Add(name.Pos, diag.BadKeep, "struct %s has a keep_if, but only `each` can drop elements", name.Value)
		return nil, false
	}
	return v, ok
}

// keepIf reports whether the struct is declared with a keep_if.
func (b *builder) keepIf(name string) bool {
	for _, s := range b.desc.Structs {
		if s.Name.Value == name {
			return s.KeepIf != nil
		}
	}
	return false
}

func (b *builder) inline(f *Field, d *descriptor.Field) (Value, bool) {
	m := f.Paths[0].Message()
	if m == nil || f.List || string(m.Desc.FullName()) != d.Resource.Value {
		b.bag.Add(d.Resource.Pos, diag.WrongShape, "%s is not a single %s", d.From[0].Value, d.Resource.Value)
		return nil, false
	}
	b.pkg.addInlined(d.Resource.Value)
	return InlineOf{m}, true
}
