package schema

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
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
}

// An Example is a rule about texts that knows a text with the required form and another one.
type Example interface{ Texts() (right, wrong string) }

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
	broken := Violation{Check: c, Text: at, scope: s, message: m}
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
	if text, is := x.(string); is && c.Path.Class().Number() { // numbers of 64 bits are quoted
		x, _ = strconv.ParseFloat(text, 64)
	}
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

// zeroName is the name of the number 0 of an enum, nil if it has none.
func zeroName(p model.Path) any {
	for _, v := range p.Leaf().Enum.Values {
		if v.Desc.Number() == 0 {
			return string(v.Desc.Name())
		}
	}
	return nil
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
	r, is := c.Rule.(Value)
	if !is {
		return false, false
	}
	s, zero := r.Schema(c.Path)
	if x == nil {
		if zero || c.Path.Presence() && !c.Path.ToList() {
			return true, true
		}
		x = zeroValue(c.Path)
	}
	if s == nil || x == nil {
		return false, false
	}
	return fulfils(s, x)
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
	switch x := x.(type) {
	case string:
		if class := p.Class(); class == model.Duration || class == model.Enumeration {
			return " = " + x
		}
		return fmt.Sprintf(" = %q", x)
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
	number, _ := x.(float64)
	text, _ := x.(string)
	list, _ := x.([]any)
	entries, _ := x.(object)
	for key, limit := range s {
		n, _ := strconv.ParseFloat(fmt.Sprint(limit), 64)
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
		case "minItems":
			holds = float64(len(list)) >= n
		case "maxItems":
			holds = float64(len(list)) <= n
		case "minProperties":
			holds = float64(len(entries)) >= n
		case "maxProperties":
			holds = float64(len(entries)) <= n
		case "uniqueItems":
			holds = repetition(list) == 0
		case "minimum":
			holds = number >= n
		case "maximum":
			holds = number <= n
		case "exclusiveMinimum":
			holds = number > n
		case "exclusiveMaximum":
			holds = number < n
		case "enum":
			holds = among(limit.([]any), x)
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
