package schema

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/xdsforge/xdsforge/gen/internal/model"
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

// holds reports whether a value, nil if it is absent, fulfils a rule. It is not known for all rules.
func holds(c *model.Check, x any, there bool) (ok, known bool) {
	switch r := c.Rule.(type) {
	case Presence:
		return there == r.Present(), true
	case Example:
		if right, wrong := r.Texts(); x == right || x == wrong {
			return x == right, true
		}
	}
	s, zero, ok := limitsOf(c)
	if !ok {
		return false, false
	}
	if x == nil {
		if zero || c.Path.Presence() && !c.Path.ToList() {
			return true, true
		}
		x = zeroValue(c.Path)
	}
	if s == nil || x == nil {
		return false, false
	}
	return fulfils(s, typed(c.Path, x))
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

// typed is the value of a text for a number of 64 bits, a duration or bytes. Other values stay as they are.
func typed(p model.Path, x any) any {
	text, ok := x.(string)
	switch class := p.Class(); {
	case !ok:
	case class.Number():
		x, _ = strconv.ParseFloat(text, 64)
	case class == model.Duration:
		x, _ = time.ParseDuration(text)
	case class == model.Bytes:
		x, _ = base64.StdEncoding.DecodeString(text)
	}
	return x
}

// number is the number that x is or counts: a number, a duration, a limit of them, or a length.
func number(x any) float64 {
	switch x := x.(type) {
	case time.Duration:
		return float64(x)
	case []any:
		return float64(len(x))
	case object:
		return float64(len(x))
	}
	n, _ := strconv.ParseFloat(fmt.Sprint(x), 64)
	return n
}

// zeroValue is the value of an absent field, nil if it is not known.
func zeroValue(p model.Path) any {
	switch class := p.Class(); {
	case p.ToList():
		return []any{}
	case class == model.Enumeration:
		return zeroName(p)
	case class == model.Map:
		return object{}
	case class == model.String || class == model.Bytes:
		return ""
	case class == model.Bool:
		return false
	case class.Number():
		return 0.0
	}
	return nil
}

// shown is the value in a violation, behind its path; empty if it is not shown.
func shown(c *model.Check, x any) string {
	p := c.Path
	if r, is := c.Rule.(Presence); is && r.Present() && p.Class() != model.String || p.Class() == model.Bytes {
		return ""
	}
	if x == nil && !p.Presence() && (!p.ToList() || c.Elements) {
		x = zeroValue(p)
	}
	switch x := typed(p, x).(type) {
	case string:
		switch {
		case p.Class() == model.Enumeration:
			return " = " + x
		case len(x) > mostShown:
			return fmt.Sprintf(" = %q…", x[:mostShown])
		}
		return fmt.Sprintf(" = %q", x)
	case time.Duration:
		return " = " + x.String()
	case float64:
		return " = " + strconv.FormatFloat(x, 'f', -1, 64)
	case bool:
		return fmt.Sprint(" = ", x)
	}
	return ""
}

// among reports whether a value is one of some, as JSON writes them.
func among(values []any, x any) bool {
	return slices.ContainsFunc(values, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(x) })
}

// isUnique reports whether a rule is that the elements of a list are different. A violation shows one.
func isUnique(c *model.Check) bool {
	s, _ := c.Rule.(Value).Schema(c.Path)
	return s["uniqueItems"] != nil
}

// repetition is the index of the first element that equals an earlier one, or 0.
func repetition(list []any) int {
	for i, x := range list {
		if among(list[:i], x) {
			return i
		}
	}
	return 0
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
		x = size(x)
	}
	switch key {
	case "pattern":
		re, err := regexp.Compile(limit.(string))
		return err == nil && re.MatchString(text), err == nil
	case "uniqueItems":
		list, _ := x.([]any)
		return repetition(list) == 0, true
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

// size is the number of bytes of a text or of bytes.
func size(x any) int {
	if b, ok := x.([]byte); ok {
		return len(b)
	}
	text, _ := x.(string)
	return len(text)
}

// zeroName is the name of the number 0 of an enum, nil if it has none.
func zeroName(p model.Path) any {
	for _, v := range p.Leaf().Enum.Values {
		if v.Desc.Number() == 0 {
			return string(v.Desc.Name())
		}
	}
	return nil
}
