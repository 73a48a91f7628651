package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// recursion notes structs that contain themselves by value.
func (b *builder) recursion() {
	done := make(map[*Struct]bool)
	var visit func(s *Struct, above []*Struct)
	visit = func(s *Struct, above []*Struct) {
		if slices.Contains(above, s) {
			b.bag.AddHint(s.Pos, diag.Recursive, "make the field optional", "struct %s contains itself by value", s.Name)
			return
		}
		if done[s] {
			return
		}
		for _, f := range s.Fields {
			if v, ok := f.Value.(StructOf); ok && !f.List && !f.IsMap() && !f.Optional {
				visit(v.Struct, append(above, s))
			}
		}
		done[s] = true
	}
	for _, s := range b.pkg.All() {
		visit(s, nil)
	}
}

// comparability finds out which structs == compares: those none of whose fields
// speaks against it.
func (b *builder) comparability() {
	for _, s := range b.pkg.Structs {
		s.Comparable = true
	}
	for changed := true; changed; {
		changed = false
		for _, s := range b.pkg.Structs {
			if s.Comparable && slices.ContainsFunc(s.Fields, func(f *Field) bool { return !f.Comparable() }) {
				s.Comparable, changed = false, true
			}
		}
	}
	for _, s := range b.pkg.Structs {
		if s.Comparable || s.declaredComparable.IsZero() {
			continue
		}
		i := slices.IndexFunc(s.Fields, func(f *Field) bool { return !f.Comparable() })
		b.bag.Add(s.declaredComparable, diag.NotComparable, "struct %s is not comparable: == cannot compare field %s", s.Name, s.Fields[i].Name)
	}
}

// fieldClashes notes fields of one struct that have one name, or that of a
// method.
func (b *builder) fieldClashes(s *Struct, fields []descriptor.Field) {
	seen := make(map[string]diag.Pos)
	methods := []string{"Equal"}
	if s.Name == updateName {
		methods = updateMethods()
	}
	for _, d := range fields {
		name := d.Name.Value
		if first, ok := seen[name]; ok {
			b.bag.Add(d.Name.Pos, diag.NameClash, "%s has two fields %s, the first in line %d", s.Name, name, first.Line)
		} else if slices.Contains(methods, name) {
			b.bag.Add(d.Name.Pos, diag.NameClash, "field %s of %s has the name of a method", name, s.Name)
		}
		seen[name] = d.Name.Pos
	}
}

// updateMethods are the methods that every update has.
func updateMethods() []string {
	return []string{"Equal", "LogValue", "MarshalJSON", "Name", "Proto", "Raw", "Refs", "Server", "String", "Version"}
}

// declarations are the names that the generated package declares.
type declarations struct {
	bag      *diag.Bag
	first    map[string]declaration // by name
	reported map[diag.Pos]bool
}

// A declaration is the first use of a name.
type declaration struct {
	what string
	pos  diag.Pos // zero: every package has it
}

// add notes a declaration, unless another one has its name. Only one clash is reported for each position, because the
// functions of a type clash too. Several fields can have one hook.
func (d *declarations) add(pos diag.Pos, what, name string) {
	first, clash := d.first[name]
	switch {
	case !clash:
		d.first[name] = declaration{what, pos}
		return
	case d.reported[pos] || first.what == what && strings.HasPrefix(what, "hook"):
		return
	}
	where := ""
	if !first.pos.IsZero() {
		where = fmt.Sprintf(" in line %d", first.pos.Line)
	}
	d.reported[pos] = true
	d.bag.AddHint(pos, diag.NameClash, "choose another name", "%s and %s%s would both be %s", what, first.what, where, name)
}

// LocalNames are the names of parameters and variables of generated code, which
// no import and no hook may have.
const LocalNames = `a b body c ctx dc e err i in j k key list m meta n name o ok p q r s seen sum sums t tx u v w x y z
	i4 i5 i6 i7 i8 i9 q4 q5 q6 q7 q8 q9 x4 x5 x6 x7 x8 x9`

// FixedNames are the declarations that every package has.
const FixedNames = `Update Event MemberEvent Watch WatchCollection Subscribe Get Lookup Put Delete AddTo Type Register
	messageName typ newShard decode peekName validate validateUpdate`

// clashes names the functions that are generated, and notes declarations that
// have one name.
func (b *builder) clashes() {
	d := declarations{b.bag, make(map[string]declaration), make(map[diag.Pos]bool)}
	for name := range strings.FieldsSeq(FixedNames) {
		d.add(diag.Pos{}, "what every package declares", name)
	}
	for name := range strings.FieldsSeq(LocalNames) {
		d.add(diag.Pos{}, "a variable of generated code", name)
	}
	for _, s := range b.pkg.Structs {
		d.add(s.Pos, "struct "+s.Name, s.Name)
		d.add(s.Pos, "the function that reads struct "+s.Name, "decode"+s.Name)
	}
	for _, e := range b.pkg.Enums {
		d.add(e.Pos, "enum "+e.Name, e.Name)
		d.add(e.Pos, "the function that reads enum "+e.Name, "decode"+e.Name)
		for _, v := range e.Values {
			d.add(e.Pos, "a constant of enum "+e.Name, v.Name)
		}
	}
	for _, o := range b.pkg.Oneofs {
		d.add(o.Pos, "oneof "+o.Name, o.Name)
		d.add(o.Pos, "the function that reads oneof "+o.Name, "decode"+o.Name)
		d.add(o.Pos, "the function that compares oneof "+o.Name, "equal"+o.Name)
		for _, c := range o.Cases {
			if c.Hook != nil {
				d.add(c.Pos, "case "+c.Type, c.Type)
			}
		}
	}
	for _, s := range b.pkg.Picks {
		d.add(s.Pick.Pos, "the function that picks an element", s.Pick.Func)
	}
	taken := Names{"validateUpdate": true} // of the rules about Go fields
	for _, s := range b.pkg.All() {
		base := "validate"
		if s != b.pkg.Update {
			base += s.Name
		}
		if s.Rules != nil {
			d.scope(s.Rules, taken, base, s.Pos)
		}
	}
	for _, h := range b.hooks {
		d.add(h.Pos, "hook "+h.Value, h.Value)
	}
}

// scope names the function of a scope, and those of the scopes in it.
func (d *declarations) scope(s *Scope, taken Names, base string, pos diag.Pos) {
	s.Func = taken.Take(base)
	if s.Func != "validate" { // which is one of the fixed names
		d.add(pos, "a function that checks rules", s.Func)
	}
	for _, u := range s.Under {
		d.scope(u.Scope, taken, s.Func+camel(strings.ReplaceAll(u.Path.String(), ".", "_")), pos)
	}
}
