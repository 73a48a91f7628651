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

// A declaration of the generated package.
type declaration struct {
	name string
	what string
	pos  diag.Pos // zero: every package has it
}

// clashes names the functions that are generated, and notes declarations that
// have one name.
func (b *builder) clashes() {
	var all []declaration
	for name := range strings.FieldsSeq(FixedNames) {
		all = append(all, declaration{name: name, what: "what every package declares"})
	}
	for name := range strings.FieldsSeq(LocalNames) {
		all = append(all, declaration{name: name, what: "a variable of generated code"})
	}
	for _, s := range b.pkg.Structs {
		all = append(all, declaration{s.Name, "struct " + s.Name, s.Pos}, declaration{"decode" + s.Name, "the function that reads struct " + s.Name, s.Pos})
	}
	for _, e := range b.pkg.Enums {
		all = append(all, declaration{e.Name, "enum " + e.Name, e.Pos}, declaration{"decode" + e.Name, "the function that reads enum " + e.Name, e.Pos})
		for _, v := range e.Values {
			all = append(all, declaration{v.Name, "a constant of enum " + e.Name, e.Pos})
		}
	}
	for _, o := range b.pkg.Oneofs {
		all = append(all,
			declaration{o.Name, "oneof " + o.Name, o.Pos}, declaration{"decode" + o.Name, "the function that reads oneof " + o.Name, o.Pos},
			declaration{"equal" + o.Name, "the function that compares oneof " + o.Name, o.Pos})
		for _, c := range o.Cases {
			if c.Hook != nil {
				all = append(all, declaration{c.Type, "case " + c.Type, c.Pos})
			}
		}
	}
	for i, s := range b.pkg.Picks {
		all = append(all, declaration{s.Pick.Func, "the function that picks an element", b.pkg.pickPos[i]})
	}
	all = b.nameScopes(all)
	for _, h := range b.hooks {
		all = append(all, declaration{h.Value, "hook " + h.Value, h.Pos})
	}
	b.reportClashes(all)
}

// LocalNames are the names of parameters and variables of generated code, which
// no import and no hook may have.
const LocalNames = `a b body c ctx dc e err i in j k key list m meta n name o ok p q r s seen sum sums t tx u v w x y z
	i4 i5 i6 i7 i8 i9 q4 q5 q6 q7 q8 q9 x4 x5 x6 x7 x8 x9`

// FixedNames are the declarations that every package has.
const FixedNames = `Update Event MemberEvent Watch WatchCollection Subscribe Get Lookup Put Delete AddTo Type Register
	messageName typ newShard decode peekName validate validateUpdate`

func (b *builder) reportClashes(all []declaration) {
	seen, reported := make(map[string]declaration), make(map[diag.Pos]bool)
	for _, d := range all {
		first, ok := seen[d.name]
		if !ok {
			seen[d.name] = d
			continue
		}
		if reported[d.pos] {
			continue // its functions have one name, too
		}
		if first.what == d.what && strings.HasPrefix(d.what, "hook") {
			continue // one function for several fields
		}
		where := ""
		if !first.pos.IsZero() {
			where = fmt.Sprintf(" in line %d", first.pos.Line)
		}
		reported[d.pos] = true
		b.bag.AddHint(d.pos, diag.NameClash, "choose another name", "%s and %s%s would both be %s", d.what, first.what, where, d.name)
	}
}

// nameScopes gives every scope the name of its function.
func (b *builder) nameScopes(all []declaration) []declaration {
	taken := Names{"validateUpdate": true} // of the rules about Go fields
	var name func(s *Scope, base string, pos diag.Pos)
	name = func(s *Scope, base string, pos diag.Pos) {
		s.Func = taken.Take(base)
		if s.Func != "validate" {
			all = append(all, declaration{s.Func, "a function that checks rules", pos})
		}
		for _, u := range s.Under {
			name(u.Scope, s.Func+camel(strings.ReplaceAll(u.Path.String(), ".", "_")), pos)
		}
	}
	for _, s := range b.pkg.All() {
		if s.Rules != nil {
			base := "validate"
			if s != b.pkg.Update {
				base += s.Name
			}
			name(s.Rules, base, s.Pos)
		}
	}
	return all
}
