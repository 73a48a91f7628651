package model

import (
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// A GoPath leads through the Go fields of an update.
type GoPath struct {
	Steps []GoStep
}

// A GoStep is one field, and, where that is a oneof, the case to go on in.
type GoStep struct {
	Field *Field
	Case  *Case
}

// String is the path as it is written.
func (p GoPath) String() string {
	return strings.Join(slice.FlatMap(p.Steps, func(s GoStep) []string {
		if s.Case != nil {
			return []string{s.Field.Name, s.Case.Type}
		}
		return []string{s.Field.Name}
	}), ".")
}

// Last is the field that the path leads to.
func (p GoPath) Last() *Field { return p.Steps[len(p.Steps)-1].Field }

// Many reports whether the path leads through a slice or map.
func (p GoPath) Many() bool {
	return slices.ContainsFunc(p.Steps, func(s GoStep) bool { return s.Field.List || s.Field.IsMap() })
}

// isGoPath tells a path of Go fields from one of a message.
func isGoPath(path string) bool { return path != "" && isExportedName(path[:1]) }

// goPath resolves a path of Go fields from s.
func (b *builder) goPath(t descriptor.Text, s *Struct) GoPath {
	var p GoPath
	names := strings.Split(t.Value, ".")
	for i := 0; i < len(names); i++ {
		step, last := GoStep{Field: b.fieldNamed(t, names[i], s)}, i == len(names)-1
		switch v := step.Field.Value.(type) {
		case StructOf:
			s = v.Struct
		case OneofOf:
			i++
			if last {
				break
			}
			step.Case = b.goCase(t, v.Oneof, names[i])
			s = step.Case.Struct
			b.require(i < len(names)-1, t, diag.WrongShape, "%s ends with a case, but must end with a field", t.Value)
		default:
			if !last {
				panic(b.fault(t.Pos, diag.Unreachable, "", "field %s of %s is not a struct, so it has no field %q", names[i], s.Name, names[i+1]))
			}
		}
		p.Steps = append(p.Steps, step)
	}
	return p
}

func (b *builder) goCase(t descriptor.Text, o *Oneof, name string) *Case {
	i := slices.IndexFunc(o.Cases, func(c *Case) bool { return c.Type == name && c.Struct != nil })
	names := slice.Map(o.Cases, func(c *Case) string { return c.Type })
	b.requireHint(i >= 0, t, diag.UnknownField, diag.Suggest(name, names), "%s has no case %q that is a struct", o.Name, name)
	return o.Cases[i]
}

// refs marks the fields that name other resources.
func (b *builder) refs(refs []descriptor.Ref) {
	for _, d := range refs {
		try(func() {
			f := b.goPath(d.From, b.pkg.Update).Last()
			b.require(namesResources(f), d.From, diag.BadRef, "%s is not a string; the name of a resource is a string", d.From.Value)
			b.require(f.Ref == "" || f.Ref == d.To.Value, d.To, diag.BadRef, "%s already refers to %s", d.From.Value, f.Ref)
			f.Ref = d.To.Value
			b.refTarget(d.To)
		})
	}
}

// refTarget warns about a message that the known messages of its protobuf package do not include, if one has a similar
// name. Other packages are not read.
func (b *builder) refTarget(t descriptor.Text) {
	names := b.index.Names()
	if slices.Contains(names, t.Value) {
		return
	}
	scope := parentOf(t.Value) + "."
	near := slice.Map(sameScope(t.Value, names), func(name string) string { return strings.TrimPrefix(name, scope) })
	if hint := diag.Suggest(strings.TrimPrefix(t.Value, scope), near); hint != "" {
		b.bag.Warn(t.Pos, diag.NoMessage, "there is no message %s beside the others of its package (%s)", t.Value, hint)
	}
}

// sameScope are the names in the scope of a name.
func sameScope(name string, names []string) []string {
	return slice.Filter(names, func(other string) bool { return parentOf(other) == parentOf(name) })
}

// namesResources reports whether a field can have the names of resources: it is a string, a list of strings, or the string
// of a hook.
func namesResources(f *Field) bool {
	if h, ok := f.Value.(HookOf); ok {
		return h.class() == String
	}
	v, plain := f.Value.(Plain)
	return plain && v.Class == String && !f.Optional && !f.IsMap()
}
