package schema

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// A Violation is a rule that a resource breaks.
type Violation struct {
	Check *model.Check
	Text  string // as the decoder reports it

	scope   *model.Scope
	message protoreflect.Message // where the path of the check starts
}

// A Verdict is what the rules say about a resource.
type Verdict struct {
	Violations []Violation
	Unknown    []*model.Check // rules that only generated code can check
	Opaque     bool           // there is a message with an [Opaque] rule
}

// Evaluate checks a message by the rules of its scope. Conditions on the context do not hold. Hooks report no violation.
func Evaluate(s *model.Scope, m protoreflect.Message) Verdict {
	var v Verdict
	v.scope(s, m, "")
	return v
}

// scope checks a message at a path.
func (v *Verdict) scope(s *model.Scope, m protoreflect.Message, at string) {
	for _, c := range s.Checks {
		if c.Rule != nil && applies(c.When, m) {
			v.check(Violation{c, join(at, c.Path.InViolation()), s, m})
		}
	}
	for _, u := range s.Under {
		if applies(u.When, m) {
			x, _ := lookup(m, u.Path)
			each(u.Path.Last(), x, func(index string, x protoreflect.Value) {
				v.scope(u.Scope, x.Message(), join(at, u.Path.InViolation())+index)
			})
		}
	}
}

// check checks a rule about the value at a path of a message, or about its elements. The text of broken is the path.
func (v *Verdict) check(broken Violation) {
	c, at := broken.Check, broken.Text
	x, there := lookup(broken.message, c.Path)
	if _, ok := c.Rule.(Opaque); ok {
		v.Opaque = v.Opaque || there
		return
	}
	if !c.Elements {
		v.value(broken, x, there)
		return
	}
	each(c.Path.Last(), x, func(index string, x protoreflect.Value) {
		broken.Text = at + index
		v.value(broken, x, true)
	})
}

// value checks a rule about one value. there is true if it is not absent. The text of broken is the path of the value.
func (v *Verdict) value(broken Violation, x protoreflect.Value, there bool) {
	c, at := broken.Check, broken.Text
	ok, known := holds(c, x, there)
	switch {
	case !known:
		v.Unknown = append(v.Unknown, c)
	case !ok:
		add := func(index string, x protoreflect.Value) {
			broken.Text = strings.TrimPrefix(at+index+shown(c, x, there)+"; "+emit.RuleText(c), "; ")
			v.Violations = append(v.Violations, broken)
		}
		if s, _, _ := limitsOf(c); s["uniqueItems"] == nil {
			add("", x)
			return
		}
		for _, i := range repetitions(x.List()) {
			add(fmt.Sprintf("[%d]", i), x.List().Get(i))
		}
	}
}

// each calls f for the elements of a list, or for the keys or values of a map in the order of the keys, with their indexes.
func each(s model.Step, x protoreflect.Value, f func(index string, x protoreflect.Value)) {
	switch all := x.Interface().(type) {
	case protoreflect.List:
		for i := range all.Len() {
			f(fmt.Sprintf("[%d]", i), all.Get(i))
		}
	case protoreflect.Map:
		for _, key := range sortedKeys(all) {
			index, of := "["+key.String()+"]", all.Get(key)
			if s.Field.Desc.MapKey().Kind() == protoreflect.StringKind {
				index = fmt.Sprintf("[%q]", key.String())
			}
			if s.Key() {
				of = key.Value()
			}
			f(index, of)
		}
	}
}

// sortedKeys returns the keys of a map, sorted by their texts.
func sortedKeys(m protoreflect.Map) []protoreflect.MapKey {
	keys := make([]protoreflect.MapKey, 0, m.Len())
	for key := range m.Range {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// join is a path below another one. Either can be empty.
func join(at, name string) string { return strings.Trim(at+"."+name, ".") }

// lookup returns the value at a path, the zero value if it is absent. there reports whether it is not absent. There is no
// value for a oneof, and behind a repeated field.
func lookup(m protoreflect.Message, p model.Path) (x protoreflect.Value, there bool) {
	x, there = protoreflect.ValueOfMessage(m), true
	for _, s := range p.Steps {
		m, single := x.Interface().(protoreflect.Message)
		switch {
		case !single:
			return protoreflect.Value{}, false
		case s.Field == nil:
			return protoreflect.Value{}, m.WhichOneof(s.Oneof.Desc) != nil
		}
		x, there = m.Get(s.Field.Desc), m.Has(s.Field.Desc)
	}
	return x, there
}

// applies reports whether a condition holds for a message.
func applies(c model.Cond, m protoreflect.Message) bool {
	return c.Context.Empty() && !slices.ContainsFunc(c.Tests, func(t model.Test) bool {
		x, there := lookup(m, t.Path)
		if t.Kind != model.Equals {
			return there != (t.Kind == model.Present)
		}
		values, _ := jsonValues(t.Value)
		return !there && t.Path.Presence() || !among(values, typed(t.Path, x))
	})
}
