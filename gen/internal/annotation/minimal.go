package annotation

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Minimal returns a message without violations in JSON's form: values only for fields whose
// absence or zero breaks a rule. A value that it cannot find is left out.
func Minimal(m *protogen.Message, find func(string) (*protogen.Message, error)) map[string]any {
	return minimal(m, find, AllDepth)
}

// Some returns a value of a field in JSON's form, or of one of its elements, without regard to its rules. A
// message in it has no violations.
func Some(f *protogen.Field, find func(string) (*protogen.Message, error)) any {
	if f.Desc.IsMap() {
		f = f.Message.Fields[1]
	}
	return zero(f, find, AllDepth)
}

func minimal(m *protogen.Message, find func(string) (*protogen.Message, error), depth int) map[string]any {
	out := make(map[string]any)
	for _, s := range sources() {
		if s.disabled(m) || depth == 0 {
			continue
		}
		for _, f := range m.Fields {
			rules := s.fieldRules(f, find)
			if rules == nil || f.Oneof != nil {
				continue
			}
			if v, ok := value(f, rules, find, depth); ok {
				out[string(f.Desc.Name())] = v
			}
		}
		for _, o := range m.Oneofs {
			if o.Desc.IsSynthetic() || !s.requiredOneof(o) {
				continue
			}
			f := o.Fields[max(0, slices.IndexFunc(o.Fields, func(f *protogen.Field) bool { return f.Message == nil }))] // a short one
			rules := s.fieldRules(f, find)
			v, ok := value(f, rules, find, depth)
			if !ok {
				v = zero(f, find, depth)
			}
			out[string(f.Desc.Name())] = v
		}
	}
	return out
}

// zero is the value of a field that is set without regard to its rules.
func zero(f *protogen.Field, find func(string) (*protogen.Message, error), depth int) any {
	switch {
	case f.Message != nil && f.Message.Desc.FullName() == "google.protobuf.Duration":
		return "1s"
	case f.Message != nil && f.Message.Desc.FullName() == "google.protobuf.Timestamp":
		return "2006-01-02T15:04:05Z"
	case f.Message != nil && f.Message.Desc.FullName() == "google.protobuf.ListValue":
		return []any{}
	case f.Message != nil && f.Message.Desc.FullName() == "google.protobuf.FieldMask":
		return ""
	case f.Message != nil && isWrapper(f.Message):
		return scalarZero(f.Message.Fields[0])
	case f.Message != nil:
		return minimal(f.Message, find, depth-1)
	}
	return scalarZero(f)
}

func isWrapper(m *protogen.Message) bool {
	return m.Desc.ParentFile().Path() == "google/protobuf/wrappers.proto"
}

func scalarZero(f *protogen.Field) any {
	switch f.Desc.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind:
		return ""
	case protoreflect.BoolKind:
		return true
	default:
		return 0
	}
}

// value returns a value that a field needs, if it needs one.
func value(f *protogen.Field, rules protoreflect.Message, find func(string) (*protogen.Message, error), depth int) (v any, needed bool) {
	c := constraints{}
	if rules != nil {
		c.read(rules)
	}
	switch {
	case f.Desc.IsMap():
		key := "example"
		if f.Message.Fields[0].Desc.Kind() != protoreflect.StringKind {
			key = "1"
		}
		return map[string]any{key: zero(f.Message.Fields[1], find, depth)}, c.least > 0
	case f.Desc.IsList():
		items := max(c.least, 0)
		one := zero(f, find, depth)
		if f.Message == nil && f.Desc.Kind() == protoreflect.StringKind {
			one = c.items().text()
		}
		list := make([]any, items)
		for i := range list {
			list[i] = one
		}
		return list, items > 0
	case f.Message != nil && f.Message.Desc.FullName() == "google.protobuf.Duration":
		return "1s", c.required
	case f.Message != nil && isWrapper(f.Message):
		v, _ := value(f.Message.Fields[0], rules, find, depth)
		return v, c.required
	case f.Message != nil:
		return zero(f, find, depth), c.required
	case f.Desc.HasPresence() && f.Oneof == nil && !c.required:
		return nil, false
	case f.Desc.Kind() == protoreflect.StringKind:
		return c.text(), !c.fits("")
	case f.Desc.Kind() == protoreflect.BoolKind:
		return true, len(c.in) > 0 && c.in[0] == "true" || c.required
	case f.Desc.Kind() == protoreflect.EnumKind:
		return c.number(1), !c.holds(0)
	case f.Desc.Kind() == protoreflect.BytesKind:
		return "YQ==", c.least > 0 || c.required
	}
	return c.number(0), !c.holds(0)
}

// constraints are the rules of a value that decide whether it is valid.
type constraints struct {
	required, ignoreEmpty bool
	least, most           int // length
	parts                 map[string]string
	pattern               string
	in, notIn             []string
	bounds                map[string]float64
	inner                 protoreflect.Message // of elements
}

func (c *constraints) items() *constraints {
	var out constraints
	if c.inner != nil {
		out.read(c.inner)
	}
	return &out
}

func (c *constraints) read(rules protoreflect.Message) {
	if c.parts == nil {
		c.parts, c.bounds, c.most = make(map[string]string), make(map[string]float64), 1<<20
	}
	each(rules, func(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		switch name {
		case "required":
			c.required = v.Bool()
		case "ignore_empty":
			c.ignoreEmpty = v.Bool()
		case "min_len", "min_bytes", "min_items", "min_pairs", "len", "len_bytes":
			c.least = length(v)
		case "max_len", "max_bytes":
			c.most = length(v)
		case "prefix", "suffix", "contains":
			c.parts[name] = v.String()
		case "pattern":
			c.pattern = v.String()
		case "uri":
			c.pattern = "^http:"
		case "ip_with_prefixlen":
			c.pattern = "/8$"
		case "well_known_regex":
			c.pattern = map[protoreflect.EnumNumber]string{1: headerName, 2: headerValue}[v.Enum()]
		case "const":
			c.in = []string{v.String()}
		case "in", "not_in":
			list := make([]string, v.List().Len())
			for i := range list {
				list[i] = v.List().Get(i).String()
			}
			if name == "in" {
				c.in = list
			} else {
				c.notIn = list
			}
		case "gt", "gte", "lt", "lte":
			if f, err := strconv.ParseFloat(v.String(), 64); err == nil {
				c.bounds[name] = f
			}
		case "items":
			c.inner = v.Message()
		default:
			if fd.Message() != nil && !fd.IsList() && strings.HasSuffix(string(fd.Message().Name()), "Rules") {
				c.read(v.Message())
			}
		}
	})
}

// fits reports whether a text is valid.
func (c *constraints) fits(s string) bool {
	if s == "" && (c.ignoreEmpty || c.required) {
		return c.ignoreEmpty && !c.required
	}
	re, err := regexp.Compile(c.pattern)
	return utf8.RuneCountInString(s) >= c.least && len(s) <= c.most && (c.in == nil || slices.Contains(c.in, s)) && !slices.Contains(c.notIn, s) &&
		strings.HasPrefix(s, c.parts["prefix"]) && strings.HasSuffix(s, c.parts["suffix"]) && strings.Contains(s, c.parts["contains"]) &&
		err == nil && re.MatchString(s)
}

// text returns a valid text, or an empty one if none is found.
func (c *constraints) text() string {
	built := c.parts["prefix"] + c.parts["contains"] + c.parts["suffix"]
	candidates := append(append([]string{built}, c.in...), "a", "example", "/", "1", "A", "a.b", "http://example.com/", "a:1", "1.2.3.4", "10.0.0.0/8", strings.Repeat("a", c.least))
	for _, s := range candidates {
		if s != "" && c.fits(s) {
			return s
		}
	}
	return ""
}

// holds reports whether a number is valid.
func (c *constraints) holds(f float64) bool {
	text := strconv.FormatFloat(f, 'f', -1, 64)
	ok := (c.in == nil || slices.Contains(c.in, text)) && !slices.Contains(c.notIn, text) && (!c.required || f != 0)
	for name, b := range c.bounds {
		ok = ok && map[string]bool{"gt": f > b, "gte": f >= b, "lt": f < b, "lte": f <= b}[name]
	}
	return ok || c.ignoreEmpty && f == 0
}

// number returns a valid number, or otherwise if none is found.
func (c *constraints) number(otherwise float64) float64 {
	candidates := []float64{0, 1, 2}
	for _, name := range slices.Sorted(maps.Keys(c.bounds)) {
		b := c.bounds[name]
		candidates = append(candidates, b, b+1, b-1)
	}
	for _, s := range c.in {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			candidates = append(candidates, f)
		}
	}
	for _, f := range candidates {
		if c.holds(f) {
			return f
		}
	}
	return otherwise
}

// length returns a bound of a length. A larger one is as good as none.
func length(v protoreflect.Value) int { return int(min(v.Uint(), 1<<20)) }
