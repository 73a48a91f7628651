package model

import (
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
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
	var names []string
	for _, s := range p.Steps {
		names = append(names, s.Field.Name)
		if s.Case != nil {
			names = append(names, s.Case.Type)
		}
	}
	return strings.Join(names, ".")
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
func (b *builder) goPath(t descriptor.Text, s *Struct) (p GoPath, ok bool) {
	names := strings.Split(t.Value, ".")
	for i := 0; i < len(names); i++ {
		j := slices.IndexFunc(s.Fields, func(f *Field) bool { return f.Name == names[i] })
		if j < 0 {
			b.unknownField(t, names[i], s)
			return p, false
		}
		step := GoStep{Field: s.Fields[j]}
		if i == len(names)-1 {
			p.Steps = append(p.Steps, step)
			return p, true
		}
		switch v := step.Field.Value.(type) {
		case StructOf:
			s = v.Struct
		case OneofOf:
			i++
			if step.Case, ok = b.goCase(t, v.Oneof, names[i]); !ok {
				return p, false
			}
			s = step.Case.Struct
			if i == len(names)-1 {
				b.bag.Add(t.Pos, diag.WrongShape, "%s ends with a case, and must end with a field", t.Value)
				return p, false
			}
		default:
			b.bag.Add(t.Pos, diag.Unreachable, "field %s of %s has no fields of its own, %q cannot be below it", names[i], s.Name, names[i+1])
			return p, false
		}
		p.Steps = append(p.Steps, step)
	}
	return p, true
}

func (b *builder) goCase(t descriptor.Text, o *Oneof, name string) (*Case, bool) {
	var names []string
	for _, c := range o.Cases {
		if c.Type == name && c.Struct != nil {
			return c, true
		}
		names = append(names, c.Type)
	}
	b.bag.AddHint(t.Pos, diag.UnknownField, diag.Suggest(name, names), "%s has no case %q that is a struct", o.Name, name)
	return nil, false
}

// refs marks the fields that name other resources.
func (b *builder) refs(refs []descriptor.Ref) {
	for _, d := range refs {
		p, ok := b.goPath(d.From, b.pkg.Update)
		if !ok {
			continue
		}
		f := p.Last()
		v, plain := f.Value.(Plain)
		switch {
		case !plain || v.Class != String || f.Optional || f.IsMap():
			b.bag.Add(d.From.Pos, diag.BadRef, "%s is no string, and a name of a resource is one", d.From.Value)
		case f.Ref != "" && f.Ref != d.To.Value:
			b.bag.Add(d.To.Pos, diag.BadRef, "%s names a %s already", d.From.Value, f.Ref)
		default:
			f.Ref = d.To.Value
		}
	}
}

// GoCheck is a rule about the fields of the update.
type GoCheck struct {
	Kind     RuleKind // Required, Compare, Range, Length or Unique
	Path     GoPath
	Elements bool // Path leads to a slice, and each element is looked at
	When     Context
	Why      string

	Compare        string // Compare: the name of its kind
	Values         []Literal
	Min, Max       *Literal
	MinLen, MaxLen int
	Keys           []*Field // of the element's struct; none: the elements themselves
	Across         bool
}

// goRule builds a rule about Go fields.
func (b *builder) goRule(s *Struct, d *descriptor.Rule, kind RuleKind) {
	if s != b.pkg.Update {
		b.bag.Add(d.At.Pos, diag.RuleShape, "%s is a path of Go fields, which start at the update: make it a rule of the resource", d.At.Value)
		return
	}
	if w := d.When; w != nil && len(w.Present)+len(w.Absent)+len(w.Equals) > 0 {
		b.bag.Add(w.Pos, diag.CondScope, "a rule about Go fields can only have the conditions xdstp_name and profile")
		return
	}
	p, ok := b.goPath(d.At, s)
	if !ok {
		return
	}
	c := &GoCheck{Kind: kind, Path: p, Why: d.Why.Value, Across: d.Across.Given()}
	if d.When != nil {
		c.When = contextOf(d.When)
	}
	f := p.Last()
	class := f.Class()
	if f.IsMap() { // a rule is about all of it
		class = NoClass
	}
	c.Elements = f.List && (kind == Compare || kind == Range)
	fine := true // whether all arguments are valid; if not, the error was already reported
	switch kind {
	case Required:
		ok = f.CanBeEmpty()
	case Compare:
		ok, _ = operand(d.Values[0].Kind, class)
		if ok = ok && class != Enumeration && !f.Optional; ok {
			c.Compare = d.Values[0].Kind.Name
			c.Values, fine = b.literalsOf(d.Values[0].Values, class, nil)
		}
	case Range:
		ok = (class.Number() || class == Duration) && !f.Optional
		if ok {
			c.Min, c.Max, fine = b.bounds(d, class)
		}
	case Length:
		if ok = f.hasLen(); ok {
			c.MinLen, c.MaxLen, fine = b.lengths(d)
		}
	case Unique:
		if ok = b.goUnique(c, d); ok {
			fine = b.once(d.Unique)
		}
	default:
		b.bag.Add(d.At.Pos, diag.RuleShape, "a rule of this kind cannot be about the Go field %s; make it one about the message", d.At.Value)
		return
	}
	switch {
	case !ok:
		b.bag.Add(d.At.Pos, diag.RuleShape, "the rule does not fit the Go field %s", d.At.Value)
	case fine:
		b.pkg.GoChecks = append(b.pkg.GoChecks, c)
	}
}

// goUnique resolves the keys of a unique rule, or checks that the elements
// themselves can be compared.
func (b *builder) goUnique(c *GoCheck, d *descriptor.Rule) bool {
	f := c.Path.Last()
	if f.IsMap() || !f.List && (!c.Across || !c.Path.Many()) {
		return false
	}
	keys := uniqueKeys(d)
	if len(keys) == 0 {
		element := *f
		element.List = false
		return element.Comparable()
	}
	v, ok := f.Value.(StructOf)
	if !ok {
		return false
	}
	for _, t := range keys {
		p, ok := b.goPath(t, v.Struct)
		if !ok || len(p.Steps) != 1 || !p.Last().Comparable() {
			return false
		}
		c.Keys = append(c.Keys, p.Last())
	}
	return true
}

// CanBeEmpty reports whether the field has a value that means nothing.
func (f *Field) CanBeEmpty() bool {
	switch v := f.Value.(type) {
	case StructOf, HookOf:
		return f.List || f.Optional || f.IsMap()
	case Plain:
		return f.List || f.Optional || f.IsMap() || v.Class != Timestamp
	case Converted:
		return f.List || f.IsMap() || v.Conversion.Pointer || f.Class() != NoClass
	}
	return true
}

// Class is the class of the field's Go value, elements of a slice each.
func (f *Field) Class() Class {
	switch v := f.Value.(type) {
	case Plain:
		return v.Class
	case Converted:
		switch v.Conversion.Type {
		case "string":
			return String
		case "uint32":
			return Uint32
		}
	case EnumOf:
		return Enumeration
	}
	return NoClass
}
