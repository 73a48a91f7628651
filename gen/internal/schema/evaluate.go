package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// A Violation is a rule that a resource breaks.
type Violation struct {
	Check *model.Check
	Text  string // as the decoder reports it

	scope   *model.Scope
	message object // where the path of the check starts
}

// A Verdict is what the rules say about a resource.
type Verdict struct {
	Violations []Violation
	Unknown    []*model.Check // rules that only generated code can check
	Opaque     bool           // there is a message with an [Opaque] rule
}

// Evaluate checks a message by the rules of its scope. The message is in the form of encoding/json, with
// the field names of the proto file. Conditions on the context do not hold. Hooks report no violation.
func Evaluate(s *model.Scope, message map[string]any) Verdict {
	var v Verdict
	v.scope(s, message, "")
	return v
}

// scope checks a message at a path.
func (v *Verdict) scope(s *model.Scope, m object, at string) {
	for _, c := range s.Checks {
		if c.Rule != nil && applies(c.When, m) {
			v.check(s, c, m, join(at, c.Path.InViolation()))
		}
	}
	for _, u := range s.Under {
		if applies(u.When, m) {
			each(u.Path.Last(), lookup(m, u.Path.Steps), func(index string, _, x any) {
				if element, ok := x.(object); ok {
					v.scope(u.Scope, element, join(at, u.Path.InViolation())+index)
				}
			})
		}
	}
}

// check checks a rule about the value at a path of a message, or about its elements.
func (v *Verdict) check(s *model.Scope, c *model.Check, m object, at string) {
	x := lookup(m, c.Path.Steps)
	if _, ok := c.Rule.(Opaque); ok {
		v.Opaque = v.Opaque || len(c.Path.Steps) == 0 || x != nil
		return
	}
	broken := Violation{Check: c, Text: at, scope: s, message: m}
	if r, ok := c.Rule.(Choice); ok && r.MessageSchema() != nil {
		inner, _ := x.(object)
		set := slice.Filter(r.Members(), func(p model.Path) bool { return there(p, inner) })
		if len(set) != 1 {
			broken.Text = strings.TrimPrefix(at+"; "+emit.RuleText(c), "; ")
			v.Violations = append(v.Violations, broken)
		}
		return
	}
	if !c.Elements {
		v.value(broken, x, there(c.Path, m))
		return
	}
	each(c.Path.Last(), x, func(index string, key, x any) {
		if c.Path.Last().Key() {
			x = key
		}
		broken.Text = at + index
		v.value(broken, x, true)
	})
}

// value checks a rule about one value, nil if it is absent. there is true if it is not the zero value. The
// text of broken is the path of the value.
func (v *Verdict) value(broken Violation, x any, there bool) {
	c, at := broken.Check, broken.Text
	ok, known := holds(c, x, there)
	switch {
	case !known:
		v.Unknown = append(v.Unknown, c)
	case !ok:
		if c.Path.Last().Key() {
			x = nil // the path has the key
		}
		if list, is := x.([]any); is && isUnique(c) {
			i := repetition(list)
			at, x = fmt.Sprintf("%s[%d]", at, i), list[i]
		}
		broken.Text = at + shown(c, x) + "; " + emit.RuleText(c)
		v.Violations = append(v.Violations, broken)
	}
}

// each calls f for the elements of the list x, or for the entries of the map x in the order of their keys.
func each(s model.Step, x any, f func(index string, key, x any)) {
	switch x := x.(type) {
	case []any:
		for i, e := range x {
			f(fmt.Sprintf("[%d]", i), nil, e)
		}
	case object:
		for _, key := range slices.Sorted(maps.Keys(x)) {
			index := "[" + key + "]"
			if s.Field.Message.Fields[0].Desc.Kind() == protoreflect.StringKind {
				index = fmt.Sprintf("[%q]", key)
			}
			f(index, key, x[key])
		}
	}
}

func join(at, name string) string {
	if at == "" || name == "" {
		return at + name
	}
	return at + "." + name
}

// lookup returns the value at a path, nil if it is absent.
func lookup(m object, steps []model.Step) any {
	var x any = m
	for _, s := range steps {
		o, _ := x.(object)
		if s.Field == nil {
			return nil
		}
		x = o[string(s.Field.Desc.Name())]
	}
	return x
}

// there reports whether there is a value at a path.
func there(p model.Path, m object) bool {
	if o := p.Oneof(); o != nil {
		parent, _ := lookup(m, p.Parent().Steps).(object)
		return slices.ContainsFunc(o.Fields, func(f *protogen.Field) bool { return parent[string(f.Desc.Name())] != nil })
	}
	switch x := lookup(m, p.Steps).(type) {
	case nil:
		return false
	case []any:
		return len(x) > 0
	case object:
		return len(x) > 0 || p.Class() != model.Map
	default:
		return p.Presence() || x != zeroValue(p) && x != 0.0
	}
}

// applies reports whether a condition holds for a message.
func applies(c model.Cond, m object) bool {
	return c.Context.Empty() && !slices.ContainsFunc(c.Tests, func(t model.Test) bool {
		if t.Kind != model.Equals {
			return there(t.Path, m) != (t.Kind == model.Present)
		}
		values, _ := jsonValues(t.Value)
		return !among(values, lookup(m, t.Path.Steps))
	})
}
