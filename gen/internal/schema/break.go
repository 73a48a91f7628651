package schema

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Broken is a value that breaks a rule.
type Broken struct {
	JSON  any    // nil: the value is absent
	Shown string // the value in a violation, behind its path; empty if it is not shown
}

// An Example is a rule about texts that knows a text with the required form and another one.
type Example interface{ Texts() (right, wrong string) }

// Break returns a value that breaks the rule of a check about a field of the message itself, and none of
// the other rules about the field. It is false if it knows none.
func Break(c *model.Check, others []*model.Check) (Broken, bool) {
	if !simple(c) {
		return Broken{}, false
	}
	for _, x := range values(append(slices.Clip(others), c)) {
		if ok, known := holds(c, x); !ok && known && allHold(others, x) {
			return Broken{x, shown(c.Path, x)}, true
		}
	}
	return Broken{}, false
}

// Keep returns a value that breaks none of the rules about a field. It is false if it knows none.
func Keep(checks []*model.Check) (any, bool) {
	for _, x := range values(checks) {
		if x != nil && allHold(checks, x) {
			return x, true
		}
	}
	return nil, false
}

// simple reports whether a check is about one field of the message itself, and always applies.
func simple(c *model.Check) bool {
	return len(c.Path.Steps) == 1 && c.When.Empty() && c.Rule != nil && !c.Elements && c.Path.Class() != model.Map
}

func allHold(checks []*model.Check, x any) bool {
	return !slices.ContainsFunc(checks, func(c *model.Check) bool {
		ok, _ := holds(c, x)
		return !ok || !simple(c)
	})
}

// holds reports whether a value, nil if it is absent, fulfils a rule. It is not known for all rules.
func holds(c *model.Check, x any) (ok, known bool) {
	p := c.Path
	if r, is := c.Rule.(Presence); is {
		there := x != nil && (p.Presence() || x != "" && x != 0.0)
		return there == r.Present(), x != nil || p.Oneof() != nil || p.Leaf().Oneof == nil || p.Leaf().Oneof.Desc.IsSynthetic()
	}
	if r, is := c.Rule.(Example); is {
		if right, wrong := r.Texts(); x == right || x == wrong {
			return x == right, true
		}
	}
	r, is := c.Rule.(Value)
	if !is {
		return false, false
	}
	s, zero := r.Schema(p)
	switch {
	case s == nil:
		return false, false
	case x == nil && p.ToList():
		return s["minItems"] == nil, s["minItems"] == nil || s["minItems"] == 1
	case x == nil:
		return zero || p.Presence(), zero || p.Presence()
	}
	return fulfils(s, x)
}

// shown is a value in a violation, behind its path; empty if the violation does not show it.
func shown(p model.Path, x any) string {
	switch x := x.(type) {
	case string:
		if p.Class() == model.Duration {
			return " = " + x
		}
		return fmt.Sprintf(" = %q", x)
	case float64:
		return " = " + strconv.FormatFloat(x, 'f', -1, 64)
	}
	if p.Class() == model.String && !p.Presence() && !p.ToList() {
		return ` = ""`
	}
	return ""
}

// values are the values to try for a field: first that it is absent.
func values(checks []*model.Check) []any {
	out := []any{nil}
	p := checks[0].Path
	switch class := p.Class(); {
	case p.ToList() || p.Oneof() != nil:
	case class == model.Duration:
		out = append(out, "-1s", "1s")
	case class == model.String:
		for _, text := range []string{"a", "?", " \x01", "", "example", "/", "1", "A", "a.b", "a:1", "1.2.3.4"} {
			out = append(out, text)
		}
		for _, c := range checks {
			if r, ok := c.Rule.(Example); ok {
				right, wrong := r.Texts()
				out = append(out, right, wrong)
			}
			out = append(out, near(c)...)
		}
	case class.Number():
		for _, c := range checks {
			out = append(out, near(c)...)
		}
		out = append(out, 1.0, 0.0)
		unsigned := class == model.Uint32 || class == model.Uint64
		out = slices.DeleteFunc(out, func(x any) bool {
			n, ok := x.(float64)
			return ok && (math.Abs(n) >= math.MaxInt32 || n < 0 && unsigned)
		})
	}
	return out // a number of an enum would be rejected twice if the update has the field
}

// near returns values that are in the schema of a rule, or near its limits.
func near(c *model.Check) []any {
	r, ok := c.Rule.(Value)
	if !ok {
		return nil
	}
	s, _ := r.Schema(c.Path)
	var out []any
	for _, key := range slices.Sorted(maps.Keys(s)) {
		switch limit := s[key].(type) {
		case int:
			for _, n := range []int{limit, limit + 1, limit - 1} {
				if n >= 0 && n < 80 { // longer ones are clipped in violations
					out = append(out, strings.Repeat("a", n))
				}
			}
		case []any:
			out = append(out, limit...)
		default:
			if n, err := strconv.ParseFloat(fmt.Sprint(limit), 64); err == nil {
				out = append(out, n+1, n-1, n)
			}
		}
	}
	return slices.DeleteFunc(out, func(x any) bool {
		_, text := x.(string)
		_, number := x.(float64)
		return text != (c.Path.Class() == model.String) || !text && !number
	})
}

// fulfils reports whether a value fulfils a schema. It knows the keys of the rules about one value.
func fulfils(s object, x any) (ok, known bool) {
	text, _ := x.(string)
	number, _ := x.(float64)
	for key, limit := range s {
		n, err := strconv.ParseFloat(fmt.Sprint(limit), 64)
		var holds bool
		switch key {
		case "pattern":
			re, err := regexp.Compile(limit.(string))
			if err != nil {
				return false, false
			}
			holds = re.MatchString(text)
		case "minLength":
			holds = float64(utf8.RuneCountInString(text)) >= n
		case "maxLength":
			holds = float64(utf8.RuneCountInString(text)) <= n
		case "minimum":
			holds = err == nil && number >= n
		case "maximum":
			holds = err == nil && number <= n
		case "exclusiveMinimum":
			holds = err == nil && number > n
		case "exclusiveMaximum":
			holds = err == nil && number < n
		case "enum":
			holds = slices.ContainsFunc(limit.([]any), func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(x) })
		case "not":
			inner, known := fulfils(limit.(object), x)
			if !known {
				return false, false
			}
			holds = !inner
		default:
			return false, false
		}
		if !holds {
			return false, true
		}
	}
	return true, true
}
