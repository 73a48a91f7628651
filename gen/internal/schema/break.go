package schema

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Broken is a value that breaks a rule.
type Broken struct {
	JSON  any    // nil: the value is absent
	Shown string // the value in a violation, behind its path; empty if it is not shown
}

// A Wrong is a rule about texts that knows one that breaks it.
type Wrong interface{ Wrong() string }

// Break returns a value that breaks the rule of a check about a field of the message itself. It is false
// if it knows none. The value is not the only one that breaks the rule.
func Break(c *model.Check) (Broken, bool) {
	if len(c.Path.Steps) != 1 || !c.When.Empty() || c.Rule == nil || c.Elements {
		return Broken{}, false
	}
	p := c.Path
	if r, ok := c.Rule.(Presence); ok {
		if p.Class() == model.String && !p.Presence() && !p.ToList() {
			return Broken{Shown: ` = ""`}, r.Present()
		}
		return Broken{}, r.Present() && (p.Oneof() != nil || p.Leaf().Oneof == nil)
	}
	if r, ok := c.Rule.(Wrong); ok && !p.ToList() {
		return Broken{r.Wrong(), fmt.Sprintf(" = %q", r.Wrong())}, true
	}
	r, ok := c.Rule.(Value)
	if !ok || p.Class() == model.Map {
		return Broken{}, false
	}
	s, _ := r.Schema(p)
	switch class := p.Class(); {
	case p.ToList():
		return Broken{}, s["minItems"] == 1
	case class == model.String:
		return text(s)
	case class == model.Duration && s != nil:
		return Broken{"-1s", " = -1s"}, true
	case class.Number():
		return number(s, class)
	} // a number of an enum would be rejected twice if the update has the field
	return Broken{}, false
}

// text returns a text that breaks a schema.
func text(s object) (Broken, bool) {
	for _, x := range []string{"a", "?", " \x01", "", strings.Repeat("a", 300)} {
		pattern, _ := s["pattern"].(string)
		re, err := regexp.Compile(pattern)
		lo, _ := s["minLength"].(int)
		hi, limited := s["maxLength"].(int)
		if err != nil || !re.MatchString(x) || len(x) < lo || limited && len(x) > hi {
			return Broken{x, fmt.Sprintf(" = %q", x)}, err == nil && len(x) < 80 // longer ones are clipped
		}
	}
	return Broken{}, false
}

// number returns a number that breaks a schema.
func number(s object, class model.Class) (Broken, bool) {
	for _, limit := range []struct {
		key string
		by  float64
	}{{"maximum", 1}, {"exclusiveMaximum", 0}, {"minimum", -1}, {"exclusiveMinimum", 0}} {
		l, ok := s[limit.key]
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(fmt.Sprint(l), 64)
		n += limit.by
		if unsigned := class == model.Uint32 || class == model.Uint64; err == nil && math.Abs(n) < math.MaxInt32 && (n >= 0 || !unsigned) {
			return Broken{n, " = " + strconv.FormatFloat(n, 'f', -1, 64)}, true
		}
	}
	return Broken{}, false
}
