package schema

import (
	"time"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// A Value is a rule about one value that JSON Schema can express.
type Value interface {
	// Schema returns the schema of valid values at a path, nil if JSON Schema cannot express it. zero is
	// true if the zero value is valid, which an absent scalar has.
	Schema(p model.Path) (valid map[string]any, zero bool)
}

// A Message is a rule about the fields of a message that JSON Schema can express.
type Message interface {
	// MessageSchema returns the schema of valid messages, nil if JSON Schema cannot express it.
	MessageSchema() map[string]any
}

// A Choice is a rule that exactly one of some fields of a message has a value.
type Choice interface {
	Message
	Members() []model.Path
}

// A Presence is a rule that there is a value at a path, or none.
type Presence interface{ Present() bool }

// check returns the schema of the message at which the path of a check starts.
func check(c *model.Check) (object, bool) {
	switch r := c.Rule.(type) {
	case Presence:
		s, ok := Present(c.Path)
		if ok && !r.Present() {
			s = object{"not": s}
		}
		return s, ok
	case Message:
		s := r.MessageSchema()
		return below(c.Path.Steps, s, true), s != nil && c.Path.Oneof() == nil && !c.Path.Many()
	case Value:
		return value(c, r)
	}
	return nil, false
}

func value(c *model.Check, r Value) (object, bool) {
	if c.Path.Oneof() != nil || c.Path.Many() && !c.Path.ToList() || c.Path.Leaf().Desc.IsMap() && c.Rule.Reach() == model.ReachElement {
		return nil, false
	}
	s, zero := r.Schema(c.Path)
	if s == nil {
		return nil, false
	}
	if c.Elements {
		s, ok := elements(c.Path, s)
		return below(c.Path.Steps, s, false), ok
	}
	return below(c.Path.Steps, s, !zero && !c.Path.Presence()), true
}

// elements returns the schema of a list or map for a schema of its elements at a path.
func elements(p model.Path, s object) (object, bool) {
	if p.Last().Key() {
		return object{"propertyNames": s}, p.Class() == model.String // other keys are quoted
	}
	return repeated(p.Last(), s), true
}

// Present returns the schema of messages with a value at a path. It is false if a value in the path is
// repeated.
func Present(p model.Path) (map[string]any, bool) {
	if p.ManyInside() {
		return nil, false
	}
	if o := p.Oneof(); o != nil {
		return below(p.Parent().Steps, object{"anyOf": members(o)}, true), true
	}
	return below(p.Steps, notZero(p), true), true
}

// notZero returns the schema of the values that are not the same as an absent one.
func notZero(p model.Path) object {
	class := p.Class()
	switch {
	case p.ToList():
		return object{"minItems": 1}
	case class == model.Map:
		return object{"minProperties": 1}
	case p.Presence():
		return object{}
	case class == model.String || class == model.Bytes:
		return object{"minLength": 1}
	case class == model.Bool:
		return object{"const": true}
	case class == model.Enumeration:
		return object{"not": object{"enum": enumValues(p.Leaf().Enum, 0)}}
	}
	return object{"not": object{"enum": []any{0, "0"}}}
}

// when puts a schema of a message under a condition. It is false if JSON Schema cannot express it.
func when(c model.Cond, inner object) (object, bool) {
	if c.Xdstp != nil || c.Side != "" || c.Profile == "envoy" || c.Profile == "http" {
		return nil, false
	}
	var tests []any
	for _, t := range c.Tests {
		s, ok := Present(t.Path)
		switch {
		case !ok:
			return nil, false
		case t.Kind == model.Absent:
			s = object{"not": s}
		case t.Kind == model.Equals:
			values, ok := jsonValues(t.Value)
			if !ok {
				return nil, false
			}
			equal := object{"enum": values}
			if t.Value.Zero() && !t.Path.Presence() {
				s = object{"not": below(t.Path.Steps, object{"not": equal}, true)}
			} else {
				s = below(t.Path.Steps, equal, true)
			}
		}
		tests = append(tests, s)
	}
	if len(tests) == 0 {
		return inner, true
	}
	return object{"if": object{"allOf": tests}, "then": inner}, true
}

// jsonValue returns a literal in JSON.
func jsonValue(l model.Literal) (any, bool) {
	switch v := l.Value.(type) {
	case *protogen.EnumValue:
		return string(v.Desc.Name()), true
	case time.Duration:
		return v.String(), false // JSON has other texts
	default:
		return v, true
	}
}

// jsonValues returns all spellings of a literal in JSON.
func jsonValues(l model.Literal) ([]any, bool) {
	switch v := l.Value.(type) {
	case *protogen.EnumValue:
		return enumValues(v.Parent, int32(v.Desc.Number())), true
	case int64, uint64:
		return []any{v, l.Text}, true // 64-bit numbers are quoted
	}
	v, ok := jsonValue(l)
	return []any{v}, ok
}

// JSON returns all spellings of literals in JSON. It is false if they have too many.
func JSON(literals []model.Literal) (values []any, zero, ok bool) {
	for _, l := range literals {
		v, ok := jsonValues(l)
		if !ok {
			return nil, false, false
		}
		values, zero = append(values, v...), zero || l.Zero()
	}
	return values, zero, true
}

// enumValues are the spellings of a number: itself and its names.
func enumValues(e *protogen.Enum, number int32) []any {
	named := slice.Filter(e.Values, func(v *protogen.EnumValue) bool { return int32(v.Desc.Number()) == number })
	return append([]any{number}, slice.Map(named, func(v *protogen.EnumValue) any { return model.ValueName(v) })...)
}
