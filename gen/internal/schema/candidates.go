package schema

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// mostElements is the length of lists and maps above which there are no candidates.
const mostElements = 12

// Candidates returns values to try for a field: nil if it is absent, and then values within and beyond
// the limits of rules about it. some is a value of the field, or of its elements.
func Candidates(f *protogen.Field, checks []*model.Check, some any) []any {
	out := []any{nil}
	switch {
	case f.Desc.IsMap():
		keys := elementValues(f.Message.Fields[0], checks, "example")
		values := elementValues(f.Message.Fields[1], checks, some)
		for _, key := range keys {
			out = append(out, object{fmt.Sprint(key): values[0]})
		}
		for _, x := range values {
			out = append(out, object{fmt.Sprint(keys[0]): x})
		}
		for _, n := range lengths(checks) {
			entries := make(object, n)
			for i := range n {
				entries[strings.Repeat(fmt.Sprint(keys[0]), i+1)] = values[0]
			}
			out = append(out, entries)
		}
	case f.Desc.IsList():
		values := elementValues(f, checks, some)
		for _, x := range values {
			out = append(out, []any{x})
		}
		for _, n := range lengths(checks) {
			out = append(out, slices.Repeat(values, n)[:n], slices.Repeat(values[:1], n))
		}
	default:
		out = append(out, scalars(f, checks, some)...)
	}
	return out
}

// elementValues are values to try for the elements of a list, or for the keys or values of a map. The first
// one fulfils all rules about them if any does.
func elementValues(f *protogen.Field, checks []*model.Check, some any) []any {
	about := slices.DeleteFunc(slices.Clone(checks), func(c *model.Check) bool { return !c.Elements || c.Path.Leaf() != f })
	out := scalars(f, about, some)
	slices.SortStableFunc(out, func(a, b any) int { return broken(about, a) - broken(about, b) })
	return out
}

// broken is the number of rules about elements that a value breaks.
func broken(checks []*model.Check, x any) int {
	n := 0
	for _, c := range checks {
		if ok, _ := holds(c, x, true); !ok {
			n++
		}
	}
	return n
}

// lengths are the lengths of lists or maps near the limits of rules.
func lengths(checks []*model.Check) []int {
	var out []int
	for _, c := range checks {
		r, ok := c.Rule.(Value)
		if !ok || c.Elements {
			continue
		}
		s, _ := r.Schema(c.Path)
		for _, key := range slices.Sorted(maps.Keys(s)) {
			limit, ok := s[key].(int)
			if key == "uniqueItems" {
				limit, ok = 1, true
			}
			for n := limit - 1; ok && n <= limit+1; n++ {
				if n > 0 && n <= mostElements {
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// scalars are values to try for a field that is not repeated, or for an element. some is one of them.
func scalars(f *protogen.Field, checks []*model.Check, some any) []any {
	var out []any
	switch class := (model.Path{Steps: []model.Step{{Field: f}}}).Class(); {
	case class == model.Duration:
		out = append(out, "1s", "-1s", "0s")
	case class == model.Bool:
		out = append(out, true, false)
	case class == model.Bytes:
		out = append(out, "YQ==", "")
	case class == model.Enumeration:
		for _, v := range f.Enum.Values {
			out = append(out, string(v.Desc.Name()))
		}
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
			return !ok || math.Abs(n) >= math.MaxInt32 || n < 0 && unsigned
		})
	default:
		out = append(out, some)
	}
	return out
}

// near returns values that are in the schema of a rule, or near its limits.
func near(c *model.Check) []any {
	r, ok := c.Rule.(Value)
	if !ok {
		return nil
	}
	s, _ := r.Schema(c.Path)
	if inner, ok := s["not"].(object); ok {
		s = inner
	}
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
			for _, x := range limit {
				if n, err := strconv.ParseFloat(fmt.Sprint(x), 64); err == nil && c.Path.Class().Number() {
					x = n
				}
				out = append(out, x)
			}
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
