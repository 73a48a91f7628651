package schema

import (
	"cmp"
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

// Candidates returns values to try for the field or oneof of a step: nil if it is absent, and then values
// within and beyond the limits of rules about it. That of a oneof is an object with one member.
func Candidates(s model.Step, checks []*model.Check) []any {
	out := []any{nil}
	switch f := s.Field; {
	case f == nil:
		members := slices.SortedStableFunc(slices.Values(s.Oneof.Fields), func(a, b *protogen.Field) int {
			return cmp.Compare(len(fieldsOf(a)), len(fieldsOf(b)))
		})
		for _, f := range members {
			out = append(out, object{string(f.Desc.Name()): scalars(f, nil)[0]})
		}
	case f.Desc.IsMap():
		keys, values := elementValues(f.Message.Fields[0], checks), elementValues(f.Message.Fields[1], checks)
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
		values := elementValues(f, checks)
		for _, x := range values {
			out = append(out, []any{x})
		}
		for _, n := range lengths(checks) {
			out = append(out, slices.Repeat(values, n)[:n], slices.Repeat(values[:1], n))
		}
	default:
		out = append(out, scalars(f, checks)...)
	}
	return out
}

// fieldsOf are the fields of the message of a field, none if it has another type.
func fieldsOf(f *protogen.Field) []*protogen.Field {
	if f.Message == nil {
		return nil
	}
	return f.Message.Fields
}

// elementValues are values to try for the elements of a list, or for the keys or values of a map. The first
// one fulfils all rules about them if any does.
func elementValues(f *protogen.Field, checks []*model.Check) []any {
	about := slices.DeleteFunc(slices.Clone(checks), func(c *model.Check) bool { return !c.Elements || c.Path.Leaf() != f })
	out := scalars(f, about)
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

// scalars are values to try for a field that is not repeated, or for an element. A message is empty.
func scalars(f *protogen.Field, checks []*model.Check) []any {
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
	case class == model.Timestamp:
		out = append(out, "2006-01-02T15:04:05Z")
	case class == model.JSONList:
		out = append(out, []any{})
	default:
		out = append(out, object{})
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
