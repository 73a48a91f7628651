package schema

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// mostShown is the number of bytes of a text that a violation shows.
const mostShown = 120

// An Example is a rule about texts that knows a text with the required form and another one.
type Example interface{ Texts() (right, wrong string) }

// A Limited is a rule with limits that JSON Schema cannot express for all values.
type Limited interface {
	Value
	// Limits has the limits of the values at a path under the keys of JSON Schema. Those of a duration are of
	// type time.Duration. Those of numbers of bytes are minBytes and maxBytes.
	Limits(p model.Path) map[string]any
}

// An Opaque is a rule about a message that only generated code can check.
type Opaque interface{ Opaque() }

// holds reports whether a value fulfils a rule. It is not known for all rules. An absent value is the zero value.
func holds(c *model.Check, value protoreflect.Value, there bool) (ok, known bool) {
	if r, is := c.Rule.(Presence); is {
		return there == r.Present(), true
	}
	if r, is := c.Rule.(Choice); is && r.MessageSchema() != nil {
		set := slice.Filter(r.Members(), func(p model.Path) bool {
			_, there := lookup(value.Message(), p)
			return there
		})
		return len(set) == 1, true
	}
	s, zero, ok := limitsOf(c)
	if !ok {
		return false, false
	}
	if !there && (zero || c.Path.Presence() && !c.Path.ToList()) {
		return true, true
	}
	x := typed(c.Path, value)
	if r, is := c.Rule.(Example); is {
		if right, wrong := r.Texts(); x == right || x == wrong {
			return x == right, true
		}
	}
	if s == nil {
		return false, false
	}
	return fulfils(s, x)
}

// limitsOf returns the schema of a rule about one value, or the limits of a [Limited]. It is nil if JSON Schema
// cannot express the rule. zero is true if the zero value is valid.
func limitsOf(c *model.Check) (s object, zero, ok bool) {
	r, ok := c.Rule.(Value)
	if !ok {
		return nil, false, false
	}
	s, zero = r.Schema(c.Path)
	if r, ok := r.(Limited); ok {
		s = r.Limits(c.Path)
	}
	return s, zero, true
}

// typed is a value in the form that rules compare: the value of a wrapper, a time.Duration, and the name of an enum's number,
// if it has one. Other values stay as they are.
func typed(p model.Path, value protoreflect.Value) any {
	switch x := value.Interface().(type) {
	case protoreflect.EnumNumber:
		if v := p.Leaf().Enum.Desc.Values().ByNumber(x); v != nil {
			return string(v.Name())
		}
	case protoreflect.Message:
		fields := x.Descriptor().Fields()
		switch {
		case p.Class() == model.Duration:
			seconds, nanos := x.Get(fields.ByNumber(1)).Int(), x.Get(fields.ByNumber(2)).Int()
			return (&durationpb.Duration{Seconds: seconds, Nanos: int32(nanos)}).AsDuration() //nolint:gosec // the field is an int32
		case p.Wrapper():
			return x.Get(fields.ByNumber(1)).Interface()
		}
	}
	return value.Interface()
}

// number is the number that x is or counts: a number, a duration, a limit of them, or a length.
func number(x any) float64 {
	switch x := x.(type) {
	case time.Duration:
		return float64(x)
	case interface{ Len() int }: // a list or map
		return float64(x.Len())
	}
	n, _ := strconv.ParseFloat(fmt.Sprint(x), 64)
	return n
}

// shown is the value in a violation, behind its path; empty if it is not shown.
func shown(c *model.Check, value protoreflect.Value, there bool) string {
	p := c.Path
	r, is := c.Rule.(Presence)
	if is && r.Present() && p.Class() != model.String || p.Last().Key() || !there && p.Presence() {
		return ""
	}
	switch x := typed(p, value).(type) {
	case string:
		switch {
		case p.Class() == model.Enumeration:
			return " = " + x
		case len(x) > mostShown:
			return fmt.Sprintf(" = %q…", x[:mostShown])
		}
		return fmt.Sprintf(" = %q", x)
	case protoreflect.Message, protoreflect.List, protoreflect.Map, []byte, nil:
		return ""
	default:
		return fmt.Sprint(" = ", x)
	}
}

// among reports whether a value is one of some, as JSON writes them.
func among(values []any, x any) bool {
	return slices.ContainsFunc(values, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(x) })
}

// repetitions are the indexes of the elements that equal earlier ones.
func repetitions(list protoreflect.List) []int {
	var out []int
	for i := range list.Len() {
		for j := range i {
			if list.Get(i).Equal(list.Get(j)) {
				out = append(out, i)
				break
			}
		}
	}
	return out
}

// fulfils reports whether a value fulfils a schema. It knows the keys of the rules about one value.
func fulfils(s object, x any) (ok, known bool) {
	for key, limit := range s {
		ok, known := keeps(key, limit, x)
		if !ok || !known {
			return false, known
		}
	}
	return true, true
}

// keeps reports whether a value keeps a limit.
func keeps(key string, limit, x any) (ok, known bool) {
	text, _ := x.(string)
	switch key {
	case "minLength", "maxLength":
		x = utf8.RuneCountInString(text)
	case "minBytes", "maxBytes":
		data, _ := x.([]byte)
		x = len(text) + len(data) // one of them is empty
	}
	switch key {
	case "pattern":
		re, err := regexp.Compile(limit.(string))
		return err == nil && re.MatchString(text), err == nil
	case "uniqueItems":
		list, ok := x.(protoreflect.List)
		return ok && len(repetitions(list)) == 0, ok
	case "minimum", "minItems", "minProperties", "minLength", "minBytes":
		return number(x) >= number(limit), true
	case "maximum", "maxItems", "maxProperties", "maxLength", "maxBytes":
		return number(x) <= number(limit), true
	case "exclusiveMinimum":
		return number(x) > number(limit), true
	case "exclusiveMaximum":
		return number(x) < number(limit), true
	case "enum":
		return among(limit.([]any), x), true
	case "not":
		ok, known := fulfils(limit.(object), x)
		return !ok, known
	}
	return false, false
}
