package model

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// path resolves t from a message. It may end in a oneof.
func (b *builder) path(t descriptor.Text, from *protogen.Message) Path {
	return b.resolve(t, from, false)
}

// rulePath is [builder.path] for a path that may lead to the keys or values of maps.
func (b *builder) rulePath(t descriptor.Text, from *protogen.Message) Path {
	return b.resolve(t, from, true)
}

func (b *builder) resolve(t descriptor.Text, from *protogen.Message, maps bool) Path {
	p := Path{From: from}
	at := from
	names := strings.Split(t.Value, ".")
	for i := 0; i < len(names); i++ {
		name := names[i]
		f, o := fieldOf(at, name)
		b.requireHint(f != nil || o != nil, t, diag.UnknownField, diag.Suggest(name, protoNames(at, i == len(names)-1)), "unknown field %q in %s", name, Short(at))
		b.requireHint(o == nil || i == len(names)-1, t, diag.Unreachable, "remove it: its members are fields of "+Short(at), "%s in %s is a oneof", name, Short(at))
		step := Step{Field: f, Oneof: o}
		if maps && i < len(names)-1 && f.Desc.IsMap() {
			if step.Part, _ = fieldOf(f.Message, names[i+1]); step.Part != nil {
				i++
			}
		}
		p.Steps = append(p.Steps, step)
		if i == len(names)-1 {
			break
		}
		leaf := step.Leaf()
		class := classOf(leaf)
		b.requireHint(leaf.Message != nil && class != Map && class != Any, t, diag.Unreachable, unreachableHint(leaf, maps),
			"%s in %s is %s, so it has no field %q", step.Name(), Short(at), class, names[i+1])
		at = leaf.Message
	}
	return p
}

// unreachableHint is the hint for a path through a field that paths cannot pass.
func unreachableHint(f *protogen.Field, maps bool) string {
	switch class := classOf(f); {
	case class == Any:
		return "name its message in `any`, and its fields in a struct"
	case class == Map && maps:
		return fmt.Sprintf("%[1]s.key is its keys, %[1]s.value its values", f.Desc.Name())
	case class == Map:
		return "name a struct for its values in `each`"
	}
	return ""
}

// fieldPath is [builder.path] to a field, not to a oneof.
func (b *builder) fieldPath(t descriptor.Text, from *protogen.Message) Path {
	p := b.path(t, from)
	b.notOneof(t, p)
	return p
}

func (b *builder) notOneof(t descriptor.Text, p Path) {
	b.require(p.Oneof() == nil, t, diag.WrongShape, "%s is a oneof of protobuf; name one of its members", t.Value)
}

// single checks that a path leads through no repeated field. It may lead to one.
func (b *builder) single(t descriptor.Text, p Path) {
	b.require(!p.ManyInside(), t, diag.WrongShape, "%s goes through a repeated field, but this key needs one value", t.Value)
}

func fieldOf(m *protogen.Message, name string) (*protogen.Field, *protogen.Oneof) {
	if f := m.Desc.Fields().ByName(protoreflect.Name(name)); f != nil {
		return m.Fields[f.Index()], nil
	}
	if o := m.Desc.Oneofs().ByName(protoreflect.Name(name)); o != nil && !o.IsSynthetic() {
		return nil, m.Oneofs[o.Index()]
	}
	return nil, nil
}

func protoNames(m *protogen.Message, oneofs bool) []string {
	names := slice.Map(m.Fields, func(f *protogen.Field) string { return string(f.Desc.Name()) })
	for _, o := range m.Oneofs {
		if oneofs && !o.Desc.IsSynthetic() {
			names = append(names, string(o.Desc.Name()))
		}
	}
	return names
}

// TestKind is a kind of [Test].
type TestKind int

// The kinds.
const (
	Present TestKind = iota
	Absent
	Equals
)

// Test is one part of a condition.
type Test struct {
	Kind  TestKind
	Path  Path
	Value Literal // of Equals

	at descriptor.Text // the path in the descriptor
}

// String is the test as violations state it.
func (t Test) String() string {
	switch t.Kind {
	case Present:
		return t.Path.String() + " is set"
	case Absent:
		return t.Path.String() + " is not set"
	default:
		return t.Path.String() + " is " + t.Value.Text
	}
}

// Cond holds when all of its tests hold.
type Cond struct {
	Tests []Test
	Context
}

// Context is the part of a condition that concerns the context and not a message.
type Context struct {
	Xdstp   *bool  // the resource's name is an xdstp name, or is not
	Profile string // the program's, as descriptors call it; empty: any
	Side    string // who goes by the message; empty: both
}

// Empty reports whether c asks for nothing.
func (c Context) Empty() bool { return c == Context{} }

// Empty reports whether c always holds.
func (c Cond) Empty() bool { return len(c.Tests) == 0 && c.Context.Empty() }

// cond resolves the parts of a condition from a message.
func (b *builder) cond(d *descriptor.Cond, from *protogen.Message) Cond {
	if d == nil {
		return Cond{}
	}
	c := Cond{Context: contextOf(d)}
	b.once(slices.Concat(d.Present, d.Absent))
	add := func(kind TestKind) func(descriptor.Text) {
		return func(t descriptor.Text) {
			p := b.rulePath(t, from)
			b.pkg.Uses.presence(p)
			c.Tests = append(c.Tests, Test{Kind: kind, Path: p, at: t})
		}
	}
	each(d.Present, add(Present))
	each(d.Absent, add(Absent))
	each(d.Equals, func(pair descriptor.Pair) { c.Tests = append(c.Tests, b.equals(pair, from)) })
	return c
}

// contextOf returns the part of a condition that concerns the context.
func contextOf(d *descriptor.Cond) Context {
	c := Context{Profile: d.Profile.Value, Side: d.Side.Value}
	if d.XdstpName.Line > 0 {
		c.Xdstp = &d.XdstpName.Value
	}
	return c
}

// equals resolves a path and the value it must have.
func (b *builder) equals(pair descriptor.Pair, from *protogen.Message) Test {
	p := b.rulePath(pair.Key, from)
	b.notOneof(pair.Key, p)
	b.require(!p.ToList(), pair.Key, diag.WrongShape, "%s is repeated, but this key needs one value", pair.Key.Value)
	b.pkg.Uses.read(p)
	return Test{Kind: Equals, Path: p, Value: b.literal(pair.Value, p.Class(), p.Leaf().Enum, diag.UnknownValue), at: pair.Key}
}

// localCond resolves a condition that looks at one message only.
func (b *builder) localCond(d *descriptor.Cond, from *protogen.Message) Cond {
	c := b.cond(d, from)
	for _, t := range c.Tests {
		b.require(!t.Path.ManyInside(), t.at, diag.CondScope, "%s goes through a repeated field, but this key needs one value", t.at.Value)
	}
	return c
}
