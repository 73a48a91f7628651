package schema

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// The sizes above which there are no candidates.
const (
	mostElements = 12      // of lists and maps; lists of [Long] have more
	mostRepeated = 2000    // of lists of equal elements
	mostBytes    = 17000   // of texts and bytes: Envoy's limit of headers is 16384
	mostExact    = 1 << 53 // of numbers, above which a float64 does not have all integers
)

// Candidates returns values to try for the field or oneof of a step: nil for an absent one, unless proto2 requires the field,
// and then values within and beyond the limits of rules about it. That of a oneof is an object with one member.
func Candidates(s model.Step, checks []*model.Check) []any {
	out := []any{nil}
	switch f := s.Field; {
	case f == nil:
		size := func(f *protogen.Field) int {
			if slices.ContainsFunc(fieldsOf(f), func(inner *protogen.Field) bool { return inner.Message == s.Oneof.Parent }) {
				return math.MaxInt // it leads back to the message of the oneof
			}
			return len(fieldsOf(f))
		}
		members := slices.SortedStableFunc(slices.Values(s.Oneof.Fields), func(a, b *protogen.Field) int {
			return cmp.Compare(size(a), size(b))
		})
		out = append(out, slice.Map(members, func(f *protogen.Field) any { return object{f.Desc.JSONName(): scalars(f, nil)[0]} })...)
	case f.Desc.IsMap():
		keys, values := elementValues(f.Message.Fields[0], checks), elementValues(f.Message.Fields[1], checks)
		out = append(out, slice.Map(keys, func(key any) any { return object{keyText(key, 0): values[0]} })...)
		out = append(out, slice.Map(values, func(x any) any { return object{keyText(keys[0], 0): x} })...)
		for _, n := range lengths(checks, 1, mostElements) {
			entries := make(object, n)
			for i := range n {
				entries[keyText(keys[0], i)] = values[0]
			}
			out = append(out, entries)
		}
	case f.Desc.IsList():
		values := elementValues(f, checks)
		out = append(out, slice.Map(values, func(x any) any { return []any{x} })...)
		for _, n := range lengths(checks, 1, mostElements) {
			out = append(out, slices.Repeat(values, n)[:n], slices.Repeat(values[:1], n))
		}
	case f.Desc.Cardinality() == protoreflect.Required:
		out = scalars(f, checks)
	default:
		out = append(out, scalars(f, checks)...)
	}
	return out
}

// Long returns long lists to try for the list at a path, near the limits of rules about it, each in a message with this
// field alone. They repeat the first element in the list of a message.
func Long(m protoreflect.Message, path []model.Step, checks []*model.Check) []any {
	f := path[len(path)-1].Field
	if f == nil || !f.Desc.IsList() {
		return nil
	}
	for _, s := range path[:len(path)-1] {
		if !m.Has(s.Field.Desc) { // within would add the message
			return nil
		}
		m = within(m, s)
	}
	if !m.Has(f.Desc) {
		return nil
	}
	first := m.Get(f.Desc).List().Get(0)
	return slice.Map(lengths(checks, mostElements+1, mostRepeated), func(n int) any {
		out := m.New()
		for list := out.Mutable(f.Desc).List(); list.Len() < n; {
			list.Append(first)
		}
		return out
	})
}

// fieldsOf are the fields of the message of a field, none if it has another type.
func fieldsOf(f *protogen.Field) []*protogen.Field {
	if f.Message == nil {
		return nil
	}
	return f.Message.Fields
}

// keyText returns the text of a map's key in JSON, or another one for each n. There are only two bools.
func keyText(key any, n int) string {
	switch key := key.(type) {
	case bool:
		return fmt.Sprint(key != (n > 0))
	case float64: // an integer; the others are further from zero
		return strconv.FormatFloat(key+math.Copysign(float64(n), key), 'f', -1, 64)
	}
	return strings.Repeat(fmt.Sprint(key), n+1)
}

// elementValues are values to try for the elements of a list, or for the keys or values of a map. The first
// one fulfils all rules about them if any does.
func elementValues(f *protogen.Field, checks []*model.Check) []any {
	about := slice.Filter(checks, func(c *model.Check) bool { return c.Elements && c.Path.Leaf() == f })
	out := slices.DeleteFunc(scalars(f, about), func(x any) bool { return !element(f, x).IsValid() })
	slices.SortStableFunc(out, func(a, b any) int { return broken(about, element(f, a)) - broken(about, element(f, b)) })
	return out
}

// element is a value as an element of a list, or as a key or value of a map. It is invalid if the field cannot have it.
func element(f *protogen.Field, x any) protoreflect.Value {
	if f.Desc.IsList() {
		x = []any{x}
	}
	m, ok := parse(dynamicpb.NewMessageType(f.Parent.Desc), object{f.Desc.JSONName(): x})
	switch {
	case !ok:
		return protoreflect.Value{}
	case f.Desc.IsList():
		return m.Get(f.Desc).List().Get(0)
	}
	return m.Get(f.Desc)
}

// broken is the number of rules about elements that a value breaks.
func broken(checks []*model.Check, x protoreflect.Value) int {
	return len(slice.Filter(checks, func(c *model.Check) bool {
		ok, _ := holds(c, x, true)
		return !ok
	}))
}

// lengths are the lengths of lists or maps near the limits of rules, which are within bounds.
func lengths(checks []*model.Check, least, most int) []int {
	var out []int
	for _, c := range checks {
		if c.Elements {
			continue
		}
		s, _, _ := limitsOf(c)
		for _, key := range slices.Sorted(maps.Keys(s)) {
			limit, ok := s[key].(int)
			if key == "uniqueItems" {
				limit, ok = 1, true
			}
			for n := limit - 1; ok && n <= limit+1; n++ {
				if n >= least && n <= most {
					out = append(out, n)
				}
			}
		}
	}
	return out
}

// scalars are values to try for a field that is not repeated, or for an element. A message is empty.
func scalars(f *protogen.Field, checks []*model.Check) []any {
	class := (model.Path{Steps: []model.Step{{Field: f}}}).Class()
	limits := slice.FlatMap(checks, func(c *model.Check) []any { return near(c, class) })
	switch {
	case class == model.Duration:
		return append([]any{"1s", "-1s", "0s"}, limits...)
	case class == model.Bool:
		return []any{true, false}
	case class == model.Bytes:
		return append([]any{"YQ==", ""}, limits...)
	case class == model.Enumeration:
		return enumerated(f.Enum)
	case class == model.String:
		return append([]any{"a", "example", "/", "1", "A", "a.b", "a:1", "1.2.3.4", "", "?", " \x01", "\n"}, limits...)
	case class.Number():
		unsigned := class == model.Uint32 || class == model.Uint64
		var out []any
		for _, x := range append(limits, 1, 0) {
			n, err := strconv.ParseFloat(fmt.Sprint(x), 64)
			if err == nil && math.Abs(n) < mostExact && (n >= 0 || !unsigned) {
				out = append(out, n)
			}
		}
		return out
	case class == model.Timestamp:
		return []any{"2006-01-02T15:04:05Z"}
	case class == model.JSONList:
		return []any{[]any{}}
	case f.Message != nil && f.Message.Desc.FullName() == "google.protobuf.FieldMask":
		return []any{"a"}
	}
	return []any{object{}}
}

// enumerated are the names of an enum and, unless it is closed, a number without a name.
func enumerated(e *protogen.Enum) []any {
	out, last := make([]any, 0, len(e.Values)+1), protoreflect.EnumNumber(0)
	for _, v := range e.Values {
		out, last = append(out, string(v.Desc.Name())), max(last, v.Desc.Number())
	}
	if !e.Desc.IsClosed() && last < math.MaxInt32 {
		out = append(out, float64(last+1))
	}
	return out
}

// near returns values of a class that are in the schema of a rule, or near its limits.
func near(c *model.Check, class model.Class) []any {
	var out []any
	if r, ok := c.Rule.(Example); ok {
		right, wrong := r.Texts()
		out = append(out, right, wrong)
	}
	s, _, _ := limitsOf(c)
	if inner, ok := s["not"].(object); ok {
		s = inner
	}
	if pattern, ok := s["pattern"].(string); ok {
		out = append(out, matching(pattern)...)
	}
	for _, key := range slices.Sorted(maps.Keys(s)) {
		limits, listed := s[key].([]any)
		if !listed {
			limits = around(s[key], class)
		}
		out = append(out, limits...)
	}
	return out
}

// around are values of a class at, above and below a limit.
func around(limit any, class model.Class) []any {
	var out []any
	for _, step := range []int{0, 1, -1} {
		switch n := limit.(type) {
		case int:
			switch n += step; {
			case n < 0 || n > mostBytes:
			case class == model.Bytes:
				out = append(out, base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("a"), n)))
			default:
				out = append(out, strings.Repeat("a", n))
			}
		case time.Duration:
			seconds := (n + time.Duration(step)*time.Second).Seconds()
			out = append(out, strconv.FormatFloat(seconds, 'f', -1, 64)+"s")
		default:
			if n, err := strconv.ParseFloat(fmt.Sprint(limit), 64); err == nil {
				out = append(out, n+float64(step))
			}
		}
	}
	return out
}
