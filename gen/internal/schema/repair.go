package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// mostRepairs is the number of values that [Repair] sets at most.
const mostRepairs = 200

// Repair sets values in a message until it breaks none of the rules that [Evaluate] knows, apart from some
// checks. It reports whether it found such values.
func Repair(s *model.Scope, message map[string]any, apart ...*model.Check) bool {
	for range mostRepairs {
		broken := slice.Filter(Evaluate(s, message).Violations, func(v Violation) bool {
			return !slices.ContainsFunc(apart, func(c *model.Check) bool { return same(c, v.Check) })
		})
		if len(broken) == 0 {
			return true
		}
		if !broken[0].repair() {
			return false
		}
	}
	return false
}

// same reports whether two checks are of the same rule about a field. They can be in different scopes.
func same(a, b *model.Check) bool {
	return a == b || a.Path.From == b.Path.From && a.Path.String() == b.Path.String() && emit.RuleText(a) == emit.RuleText(b)
}

// repair sets a value that breaks no rule about the field. Messages in it may break others.
func (v Violation) repair() bool {
	path := v.Check.Path
	if r, ok := v.Check.Rule.(Choice); ok {
		return v.choose(r.Members())
	}
	about := &model.Scope{Message: v.scope.Message, Checks: slice.Filter(v.scope.Checks, func(c *model.Check) bool {
		return c.Path.InViolation() == path.InViolation()
	})}
	for _, x := range Candidates(path.Last(), about.Checks) {
		Set(v.message, path.Steps, x)
		if len(Evaluate(about, v.message).Violations) == 0 {
			return true
		}
	}
	return false
}

// choose sets a value of the first one of some fields that breaks no rule about it, and removes those of the others.
func (v Violation) choose(members []model.Path) bool {
	at := func(p model.Path) []model.Step { return slices.Concat(v.Check.Path.Steps, p.Steps) }
	for _, p := range members {
		Set(v.message, at(p), nil)
	}
	first := at(members[0])
	name := model.Path{Steps: first}.InViolation()
	about := slice.Filter(v.scope.Checks, func(c *model.Check) bool {
		_, inner := c.Rule.(Choice) // among the fields of the member, which is for another repair
		return !inner && c.Path.InViolation() == name
	})
	all := &model.Scope{Message: v.scope.Message, Checks: append(slices.Clone(about), v.Check)}
	for _, x := range Candidates(members[0].Last(), about) {
		Set(v.message, first, x)
		if len(Evaluate(all, v.message).Violations) == 0 {
			return true
		}
	}
	return false
}

// Set sets the value at a path of a message, or removes it if it is nil. It adds the messages on the way. A
// list or map on the way has one element.
func Set(message map[string]any, path []model.Step, x any) {
	m := message
	for i, s := range path {
		name := nameOf(s)
		old := m[name]
		for _, f := range alternatives(s) {
			delete(m, string(f.Desc.Name()))
		}
		switch {
		case i < len(path)-1:
			if old == nil {
				old = holding(s, make(object))
			}
			m[name] = old
			m = within(s, old)
		case s.Field == nil && x != nil:
			maps.Copy(m, Copy(x).(object))
		case x == nil:
			delete(m, name)
		default:
			m[name] = Copy(x)
		}
	}
}

// get returns the value at a path that [Set] has set. It is nil if there is none.
func get(message object, path []model.Step) any {
	for _, s := range path[:len(path)-1] {
		x := message[nameOf(s)]
		if x == nil {
			return nil
		}
		message = within(s, x)
	}
	return message[nameOf(path[len(path)-1])]
}

// nameOf is the name of the field of a step.
func nameOf(s model.Step) string {
	if s.Field == nil {
		return ""
	}
	return string(s.Field.Desc.Name())
}

// holding is a value of the field of a step that contains a message.
func holding(s model.Step, m object) any {
	switch {
	case s.Part != nil:
		return object{"example": m}
	case s.Repeated():
		return []any{m}
	}
	return m
}

// within is the message in a value of the field of a step: the first one of a list, or a value of a map.
func within(s model.Step, x any) object {
	switch {
	case s.Part != nil:
		entries := x.(object)
		x = entries[slices.Sorted(maps.Keys(entries))[0]]
	case s.Repeated():
		x = x.([]any)[0]
	}
	return x.(object)
}

// alternatives are the members of the oneof that a step leads to, or that its field is in.
func alternatives(s model.Step) []*protogen.Field {
	switch {
	case s.Field == nil:
		return s.Oneof.Fields
	case s.Field.Oneof != nil:
		return s.Field.Oneof.Fields
	}
	return nil
}

// Copy returns a copy of a value that encoding/json can encode, as it decodes it.
func Copy[T any](x T) T {
	var out T
	text, err := json.Marshal(x)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err)) // a candidate that is not JSON
	}
	return out
}
