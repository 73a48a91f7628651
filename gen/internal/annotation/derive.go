package annotation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Rule is a derived rule.
type Rule struct {
	Line    string // a rule of a descriptor, in YAML; empty if there is only a comment
	Comment string // a constraint that is not expressed, in one line
	CEL     string // the expression that is not expressed
	// Message has the option, or the field with the option, and is at the path In.
	Message *protogen.Message
	In      string
	Field   string // its name; empty if the option is of the message
}

// Depth is the number of messages below the resource's, for whose fields [Derive] returns
// rules in a new descriptor. AllDepth is enough for all messages of Envoy.
const (
	Depth    = 3
	AllDepth = 12
)

// Derive returns the rules of the fields of a message and of the messages in it, in the order of the fields.
// A message that contains itself, and one that is deeper, has the rule to fulfil its annotations for
// protoc-gen-validate, and a comment about those for protovalidate. find finds the messages of the libraries.
func Derive(m *protogen.Message, depth int, find func(string) (*protogen.Message, error)) []Rule {
	return derive(m, depth, find, nil, "", []*protogen.Message{m}, sources())
}

// derive derives the rules of the message at a path by the options of some libraries. present is the path of the closest
// message that may be absent.
func derive(m *protogen.Message, depth int, find func(string) (*protogen.Message, error), path []string, present string, above []*protogen.Message, libraries []source) []Rule {
	var out []Rule
	libraries = slices.DeleteFunc(slices.Clone(libraries), func(s source) bool { return s.disabled(m, find) })
	for _, s := range libraries {
		whole := &deriver{why: s.why, at: strings.Join(path, "."), message: m, path: path, present: present}
		if rules := s.messageRules(m, find); rules != nil {
			whole.messageRules(rules)
		}
		for _, f := range m.Fields {
			if rules := s.fieldRules(f, find); rules != nil {
				d := newDeriver(s.why, f, path, present)
				d.empty = slices.Contains(whole.oneofs, string(f.Desc.Name()))
				d.fieldRules(rules)
				out = append(out, d.out...)
			}
		}
		out = append(out, whole.out...)
		for _, o := range m.Oneofs {
			if !o.Desc.IsSynthetic() && s.requiredOneof(o) {
				d := &deriver{why: s.why, at: join(path, string(o.Desc.Name())), present: present}
				d.add("required: true")
				out = append(out, d.out...)
			}
		}
	}
	for _, f := range m.Fields {
		name, of := string(f.Desc.Name()), f.Message
		if f.Desc.IsMap() {
			name, of = name+".value", f.Message.Fields[1].Message
		}
		if of == nil || of.Desc.ParentFile().Package() == "google.protobuf" {
			continue
		}
		within := slices.DeleteFunc(slices.Clone(libraries), func(s source) bool { return s.skipped(f, find) })
		if slices.Contains(above, of) || len(path) == depth {
			for _, s := range within {
				if s.annotates(of, find, nil) {
					out = append(out, s.inner(join(path, name), of))
				}
			}
			continue
		}
		inner := ""
		if !f.Desc.IsList() && !f.Desc.IsMap() {
			inner = join(path, name)
		}
		out = append(out, derive(of, depth, find, append(slices.Clone(path), name), inner, append(slices.Clone(above), of), within)...)
	}
	return out
}

// inner is the rule that a message at a path fulfils its annotations. The framework checks those of protoc-gen-validate.
func (s source) inner(at string, m *protogen.Message) Rule {
	if s.why != "PGV" {
		return Rule{Comment: fmt.Sprintf("%s: the rules of %s are not expressed (%s)", at, m.Desc.Name(), s.why)}
	}
	return Rule{Line: fmt.Sprintf("{at: %s, annotated: true, why: %s}", at, s.why)}
}

// annotates reports whether the fields of a message, or of the messages in it, have rules of the library.
func (s source) annotates(m *protogen.Message, find func(string) (*protogen.Message, error), seen map[*protogen.Message]bool) bool {
	if seen == nil {
		seen = make(map[*protogen.Message]bool)
	}
	if seen[m] || s.disabled(m, find) {
		return false
	}
	seen[m] = true
	return s.messageRules(m, find) != nil || slices.ContainsFunc(m.Oneofs, s.requiredOneof) || slices.ContainsFunc(m.Fields, func(f *protogen.Field) bool {
		of := f.Message
		if f.Desc.IsMap() {
			of = of.Fields[1].Message
		}
		return s.fieldRules(f, find) != nil || of != nil && s.annotates(of, find, seen)
	})
}

// skipped reports whether the library does not check the message of a field: if an option says so, also for the elements,
// or is about another type, as `any` for a message.
func (s source) skipped(f *protogen.Field, find func(string) (*protogen.Message, error)) bool {
	rules := s.fieldRules(f, find)
	if rules == nil {
		return false
	}
	skip := ignored(rules)
	var visit func(rules protoreflect.Message)
	visit = func(rules protoreflect.Message) {
		each(rules, func(name string, _ protoreflect.FieldDescriptor, v protoreflect.Value) {
			switch name {
			case "items", "values":
				skip = skip || ignored(v.Message())
				visit(v.Message())
			case "repeated", "map", "message":
				visit(v.Message())
			case "skip":
				skip = skip || v.Bool()
			case "any":
				skip = true
			}
		})
	}
	visit(rules)
	return skip
}

func join(path []string, name string) string {
	return strings.Join(append(slices.Clone(path), name), ".")
}

func newDeriver(why string, f *protogen.Field, path []string, present string) *deriver {
	return &deriver{why: why, message: f.Parent, path: path, field: f, at: join(path, string(f.Desc.Name())), present: present, enum: f.Enum, list: f.Desc.IsList()}
}

// A deriver derives the rules of one field, or of a message as a whole.
type deriver struct {
	why     string
	message *protogen.Message // that has the field
	path    []string          // of the message
	field   *protogen.Field   // nil: the rules are those of the message as a whole
	oneofs  []string          // the fields of the message that have no rules while they are empty
	at      string
	present string // the path of a message that may be absent
	enum    *protogen.Enum
	list    bool // the field is repeated
	element bool // the rules are about its elements
	empty   bool // an empty value has no rules
	zero    bool // nor has a zero that is there, for which there is no condition
	out     []Rule
}

// add adds a rule about the field. Protovalidate requires a member of a oneof, protoc-gen-validate only its value if it is
// chosen. A message that is an element is always there. An empty value does not fulfil `required`.
func (d *deriver) add(args string) {
	if args == "required: true" && d.field != nil {
		switch {
		case d.why == "PGV" && d.field.Oneof != nil && !d.field.Oneof.Desc.IsSynthetic(), d.element && d.field.Message != nil:
			return
		case d.element:
			d.skip("required", true)
			return
		}
	}
	when, present := "", d.present
	if args != "required: true" {
		if d.zero {
			key, value, _ := strings.Cut(args, ": ")
			d.skip(key, value+" unless zero")
			return
		}
		if d.empty {
			present = d.at
		}
	}
	if present != "" {
		when = ", when: {present: " + present + "}"
	}
	at := ""
	if d.at != "" {
		at = "at: " + d.at + ", "
	}
	d.out = append(d.out, Rule{Line: fmt.Sprintf("{%s%s%s, why: %s}", at, args, when, d.why)})
}

// skip notes a constraint that is not expressed.
func (d *deriver) skip(name string, v any) {
	of := ""
	if d.element {
		of = " of elements"
	}
	r := Rule{Message: d.message, In: strings.Join(d.path, ".")}
	about := cmp.Or(d.at, string(d.message.Desc.Name()))
	if d.field != nil {
		r.Field = strings.Trim(strings.TrimPrefix(d.at, r.In), ".") // with the part of a map
	}
	r.Comment = strings.Join(strings.Fields(fmt.Sprintf("%s: %s%s = %v is not expressed (%s)", about, name, of, v, d.why)), " ")
	d.out = append(d.out, r)
}

// each calls f for the fields of m that are set, in the order of their numbers.
func each(m protoreflect.Message, f func(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value)) {
	var set []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		set = append(set, fd)
		return true
	})
	slices.SortFunc(set, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number() - b.Number()) })
	for _, fd := range set {
		f(string(fd.Name()), fd, m.Get(fd))
	}
}

// fieldRules derives the rules of one FieldRules message.
func (d *deriver) fieldRules(rules protoreflect.Message) {
	each(rules, func(name string, _ protoreflect.FieldDescriptor, v protoreflect.Value) {
		if name == "ignore" {
			d.empty = v.Enum() == 1 || v.Enum() == 2 // IGNORE_IF_ZERO_VALUE, and IGNORE_IF_DEFAULT_VALUE of old versions
			d.zero = d.empty && (d.element || v.Enum() == 2 && d.field.Desc.HasPresence())
		}
	})
	if ignored(rules) {
		return
	}
	each(rules, func(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		switch {
		case name == "ignore":
		case name == "required":
			if v.Bool() {
				d.add("required: true")
			}
		case name == "cel" || name == "cel_expression":
			for i := range v.List().Len() {
				d.cel(v.List().Get(i))
			}
		case fd.Message() != nil && !fd.IsList():
			d.typeRules(v.Message())
		}
	})
}

// ignored reports whether the rules of a FieldRules message, and of the messages in its field, do not apply.
func ignored(rules protoreflect.Message) bool {
	f := rules.Descriptor().Fields().ByName("ignore")
	return f != nil && f.Kind() == protoreflect.EnumKind && rules.Get(f).Enum() == 3 // IGNORE_ALWAYS
}

// messageRules derives the rules of a message as a whole.
func (d *deriver) messageRules(rules protoreflect.Message) {
	each(rules, func(name string, _ protoreflect.FieldDescriptor, v protoreflect.Value) {
		switch name {
		case "cel", "cel_expression":
			for i := range v.List().Len() {
				d.cel(v.List().Get(i))
			}
		case "oneof":
			for i := range v.List().Len() {
				d.messageOneof(v.List().Get(i).Message())
			}
		}
	})
}

// messageOneof derives the rule that one of some fields has a value. They have no other rules while they have none.
func (d *deriver) messageOneof(rules protoreflect.Message) {
	var fields []string
	required := false
	each(rules, func(name string, _ protoreflect.FieldDescriptor, v protoreflect.Value) {
		switch name {
		case "fields":
			for i := range v.List().Len() {
				fields = append(fields, v.List().Get(i).String())
			}
		case "required":
			required = v.Bool()
		}
	})
	d.oneofs = append(d.oneofs, fields...)
	if required {
		d.add("one_of: [" + strings.Join(fields, ", ") + "]")
	} else {
		d.skip("oneof", fields)
	}
}

// typeRules derives the rules of one message such as UInt32Rules.
func (d *deriver) typeRules(rules protoreflect.Message) {
	var bounds []string
	if e := rules.Descriptor().Fields().ByName("ignore_empty"); e != nil && rules.Get(e).Bool() {
		d.empty, d.zero = true, d.element
	}
	outside := excludes(rules)
	each(rules, func(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		key := map[string]string{"gt": "above", "gte": "min", "lt": "below", "lte": "max"}[name]
		switch {
		case key != "" && !outside && d.literal(fd, v) != "":
			if key != "min" || d.literal(fd, v) != "0" || !unsigned(fd) {
				bounds = append(bounds, key+": "+d.literal(fd, v))
			}
		case name == "const" || name == "in" || name == "not_in":
			d.values(name, fd, v)
		default:
			d.constraint(name, fd, v, rules)
		}
	})
	for _, kind := range []string{"min max", "above below"} {
		var args []string
		for _, b := range bounds {
			if key, _, _ := strings.Cut(b, ":"); strings.Contains(kind, key) {
				args = append(args, b)
			}
		}
		if len(args) > 0 {
			d.add(strings.Join(args, ", "))
		}
	}
}

func unsigned(fd protoreflect.FieldDescriptor) bool {
	switch fd.Kind() {
	case protoreflect.Uint32Kind, protoreflect.Uint64Kind, protoreflect.Fixed32Kind, protoreflect.Fixed64Kind:
		return true
	default:
		return false
	}
}

// excludes reports whether the bounds of rules exclude the values between them.
func excludes(rules protoreflect.Message) bool {
	bound := func(names ...protoreflect.Name) (float64, bool) {
		for _, name := range names {
			fd := rules.Descriptor().Fields().ByName(name)
			if fd == nil || !rules.Has(fd) {
				continue
			}
			if m, ok := rules.Get(fd).Interface().(protoreflect.Message); ok {
				return float64(duration(m)), true
			}
			f, err := strconv.ParseFloat(fmt.Sprint(rules.Get(fd).Interface()), 64)
			return f, err == nil
		}
		return 0, false
	}
	lo, low := bound("gt", "gte")
	hi, high := bound("lt", "lte")
	return low && high && lo > hi
}

// values derives a rule that compares with constants.
func (d *deriver) values(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
	var texts []string
	if !fd.IsList() {
		texts = []string{d.literal(fd, v)}
	} else {
		for i := range v.List().Len() {
			texts = append(texts, d.literal(fd, v.List().Get(i)))
		}
	}
	key := map[string]string{"const": "in"}[name]
	if key == "" {
		key = name
	}
	if fd.Message() != nil || slices.Contains(texts, "") || fd.Kind() == protoreflect.BytesKind {
		d.skip(name, v)
		return
	}
	if d.field.Message != nil && d.field.Message.Desc.FullName() == "google.protobuf.Any" {
		for i, t := range texts {
			text, _ := strconv.Unquote(t)
			texts[i] = text[strings.LastIndexByte(text, '/')+1:]
		}
		if key = "any_type"; name == "not_in" {
			d.skip(name, v)
			return
		}
	}
	d.add(key + ": [" + strings.Join(texts, ", ") + "]")
}

// literal is a value in YAML; empty if it cannot be one.
func (d *deriver) literal(fd protoreflect.FieldDescriptor, v protoreflect.Value) string {
	switch x := v.Interface().(type) {
	case protoreflect.Message:
		if x.Descriptor().FullName() == "google.protobuf.Duration" {
			return duration(x).String()
		}
		return ""
	case string:
		return strconv.Quote(x)
	case int32:
		if d.enum != nil {
			for _, value := range d.enum.Values {
				if value.Desc.Number() == protoreflect.EnumNumber(x) {
					return string(value.Desc.Name())
				}
			}
			return ""
		}
		return fmt.Sprint(x)
	case float32, float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, map[protoreflect.Kind]int{protoreflect.FloatKind: 32, protoreflect.DoubleKind: 64}[fd.Kind()])
	case []byte:
		return ""
	default:
		return fmt.Sprint(x)
	}
}

func duration(m protoreflect.Message) time.Duration {
	fields := m.Descriptor().Fields()
	return time.Duration(m.Get(fields.ByName("seconds")).Int())*time.Second + time.Duration(m.Get(fields.ByName("nanos")).Int())
}

// The patterns of header names and values that both libraries use.
const (
	headerName   = `^:?[0-9a-zA-Z!#$%&'*+-.^_|~\x60]+$`
	headerValue  = `^[^\x00-\x08\x0A-\x1F\x7F]*$`
	headerString = `^[^\x00\x0A\x0D]*$`
)

// constraint derives a rule of another kind.
func (d *deriver) constraint(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value, rules protoreflect.Message) {
	size := func(kind string) { d.add(fmt.Sprintf("%s: %d", kind, v.Uint())) }
	text := fd.Parent().Name() == "StringRules"
	switch {
	case name == "ignore_empty", name == "strict", name == "no_sparse", name == "skip", name == "example":
	case name == "required", name == "unique":
		if v.Bool() {
			d.add(name + ": true")
		}
	case name == "defined_only":
		if v.Bool() {
			d.add("defined: true")
		}
	case text && (name == "min_len" || name == "max_len"):
		if v.Uint() > 0 || name == "max_len" {
			size(strings.Replace(name, "len", "chars", 1))
		}
	case text && d.element && (name == "min_bytes" || name == "max_bytes"):
		if v.Uint() > 0 || name == "max_bytes" {
			size(name)
		}
	case text && d.element && name == "len_bytes" && v.Uint() > 0:
		d.add(fmt.Sprintf("min_bytes: %d, max_bytes: %d", v.Uint(), v.Uint()))
	case text && name == "len":
		d.add(fmt.Sprintf("min_chars: %d, max_chars: %d", v.Uint(), v.Uint()))
	case !d.element && (name == "min_bytes" || name == "min_items" || name == "min_pairs" || name == "min_len"):
		if v.Uint() > 0 {
			size("min_len")
		}
	case !d.element && (name == "max_bytes" || name == "max_items" || name == "max_pairs" || name == "max_len"):
		size("max_len")
	case !d.element && (name == "len_bytes" || name == "len"):
		d.add(fmt.Sprintf("min_len: %d, max_len: %d", v.Uint(), v.Uint()))
	case text && name == "pattern":
		d.add("matches: " + strconv.Quote(v.String()))
	case text && (name == "prefix" || name == "suffix" || name == "contains" || name == "not_contains"):
		d.add(name + ": " + strconv.Quote(v.String()))
	case text && (name == "uri" || name == "ip_with_prefixlen"):
		if v.Bool() {
			d.add("as: " + map[string]string{"uri": "url", "ip_with_prefixlen": "cidr"}[name])
		}
	case text && name == "well_known_regex":
		strict := rules.Descriptor().Fields().ByName("strict")
		pattern := map[protoreflect.EnumNumber]string{1: headerName, 2: headerValue}[v.Enum()]
		if strict != nil && rules.Has(strict) && !rules.Get(strict).Bool() {
			pattern = headerString
		}
		if pattern != "" {
			d.add("matches: " + strconv.Quote(pattern))
		}
	case name == "items":
		inner := *d
		inner.element, inner.empty, inner.zero, inner.out = true, false, false, nil
		inner.fieldRules(v.Message())
		d.out = append(d.out, inner.out...)
	case d.field.Desc.IsMap() && (name == "keys" || name == "values"):
		part := d.field.Message.Fields[map[string]int{"keys": 0, "values": 1}[name]]
		inner := deriver{why: d.why, message: d.message, path: d.path, field: part, at: d.at + "." + string(part.Desc.Name()), present: d.present, enum: part.Enum, element: true}
		inner.fieldRules(v.Message())
		d.out = append(d.out, inner.out...)
	default:
		d.skip(name, v)
	}
}
