package annotation

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// Rule is a derived rule.
type Rule struct {
	Line    string // a rule of a descriptor, in YAML; empty if there is only a comment
	Comment string // a constraint that is not expressed, in one line
	Origin  string // the annotation and its place, such as "string.min_len (PGV) of acme.Thing.name"
	CEL     string // the expression that is not expressed
	// Message has the option, or the field with the option, and is at the path In.
	Message *protogen.Message
	In      string
	Field   string // its name; empty if the option is of the message
	// At is the path of the subject of the comment. It is the name of the message for one about the resource's message.
	At string
}

// Depth is the number of messages below the resource's, for whose fields [Derive] returns
// rules in a new descriptor. AllDepth is enough for all messages of Envoy.
const (
	Depth    = 3
	AllDepth = 12
)

// maxMessages is the limit of the messages whose rules [Derive] returns, each counted at every path. Envoy's
// HttpConnectionManager has 1,800. Messages that contain each other have far more.
const maxMessages = 10_000

// Derive returns the rules of the fields of a message and of the messages in it, in the order of the fields.
// A message that contains itself, and one that is deeper, has the rule to fulfil its annotations for
// protoc-gen-validate, and a comment about those for protovalidate. The depth is lower if there are more than 10,000
// messages above it. The index has the messages and extensions of the libraries.
func Derive(m *protogen.Message, depth int, x Index) []Rule {
	for depth > 0 && count(m, depth, []*protogen.Message{m}) > maxMessages {
		depth--
	}
	return derive(m, depth, x, nil, "", []*protogen.Message{m}, sources())
}

// count returns the number of messages for which derive makes rules. It stops behind the limit.
func count(m *protogen.Message, depth int, above []*protogen.Message) int {
	n := 1
	for _, f := range m.Fields {
		_, of := messageOf(f)
		switch {
		case of == nil:
		case n > maxMessages:
			return n
		case depth == 0 || slices.Contains(above, of):
			n++
		default:
			n += count(of, depth-1, append(slices.Clone(above), of))
		}
	}
	return n
}

// messageOf returns the message of a field or of the values of a map, and the name of its place. It is nil for another field,
// and for well-known types.
func messageOf(f *protogen.Field) (name string, of *protogen.Message) {
	name, of = string(f.Desc.Name()), f.Message
	if f.Desc.IsMap() {
		name, of = name+".value", f.Message.Fields[1].Message
	}
	if of == nil || of.Desc.ParentFile().Package() == "google.protobuf" {
		return name, nil
	}
	return name, of
}

// derive derives the rules of the message at a path by the options of some libraries. present is the path of the closest
// message that may be absent.
func derive(m *protogen.Message, depth int, x Index, path []string, present string, above []*protogen.Message, libraries []source) []Rule {
	var out []Rule
	libraries = slices.DeleteFunc(slices.Clone(libraries), func(s source) bool { return s.disabled(m, x) })
	for _, s := range libraries {
		out = append(out, s.own(m, x, path, present)...)
	}
	for _, f := range m.Fields {
		name, of := messageOf(f)
		if of == nil {
			continue
		}
		within := slices.DeleteFunc(slices.Clone(libraries), func(s source) bool { return s.skipped(f, x) })
		if slices.Contains(above, of) || len(path) == depth {
			for _, s := range within {
				if s.annotates(of, x, make(map[*protogen.Message]bool)) {
					out = append(out, s.inner(join(path, name), of, x)...)
				}
			}
			continue
		}
		inner := ""
		if !f.Desc.IsList() && !f.Desc.IsMap() {
			inner = join(path, name)
		}
		out = append(out, derive(of, depth, x, append(slices.Clone(path), name), inner, append(slices.Clone(above), of), within)...)
	}
	return out
}

// own derives the rules of the options of a message and of its fields, without those of the messages in it.
func (s source) own(m *protogen.Message, x Index, path []string, present string) []Rule {
	var out []Rule
	whole := &deriver{index: x, why: s.why, at: strings.Join(path, "."), message: m, path: path, present: present}
	if rules := whole.options(s.rules(m.Desc.Options(), x)); rules != nil {
		whole.fieldRules(rules)
	}
	for _, f := range m.Fields {
		d := newDeriver(x, s.why, f, path, present)
		if rules := d.options(s.rules(f.Desc.Options(), x)); rules != nil {
			d.empty = slices.Contains(whole.oneofs, string(f.Desc.Name()))
			d.fieldRules(rules)
		}
		out = append(out, d.out...)
	}
	out = append(out, whole.out...)
	for _, o := range m.Oneofs {
		d := &deriver{index: x, why: s.why, message: m, path: path, at: join(path, string(o.Desc.Name())), present: present}
		d.options(s.rules(o.Desc.Options(), x)) // notes an option that cannot be read
		if s.requiredOneof(o, x) {
			d.option = "required oneof"
			d.add("required: true")
		}
		out = append(out, d.out...)
	}
	return out
}

// inner is the rule that a message at a path fulfils its annotations. The framework checks those of protoc-gen-validate.
// Those of protovalidate are comments, one for each annotation of the message.
func (s source) inner(at string, m *protogen.Message, x Index) []Rule {
	origin := fmt.Sprintf("all options (%s) of %s", s.why, m.Desc.FullName())
	if s.why != "PGV" {
		own := s.own(m, x, nil, "")
		out := append(make([]Rule, 0, 1+len(own)), Rule{At: at, Comment: fmt.Sprintf("%s: the rules of %s are not expressed (%s)", at, m.Desc.Name(), s.why), Origin: origin})
		for _, r := range own {
			text := strings.TrimPrefix(r.Comment, string(m.Desc.Name())+": ")
			if r.Line != "" {
				text = fmt.Sprintf("%s is not expressed (%s)", strings.Replace(r.Line, ", why: "+s.why, "", 1), s.why)
			}
			out = append(out, Rule{At: at, Comment: fmt.Sprintf("%s, a %s: %s", at, m.Desc.Name(), text), Origin: r.Origin})
		}
		return out
	}
	return []Rule{{Line: fmt.Sprintf("{at: %s, annotated: true, why: %s}", word(at), s.why), Origin: origin}}
}

// annotates reports whether the fields of a message, or of the messages in it that it has not seen, have rules of the library.
func (s source) annotates(m *protogen.Message, x Index, seen map[*protogen.Message]bool) bool {
	if seen[m] || s.disabled(m, x) {
		return false
	}
	seen[m] = true
	if rules, _ := s.rules(m.Desc.Options(), x); rules != nil || slices.ContainsFunc(m.Oneofs, func(o *protogen.Oneof) bool { return s.requiredOneof(o, x) }) {
		return true
	}
	return slices.ContainsFunc(m.Fields, func(f *protogen.Field) bool {
		of := f.Message
		if f.Desc.IsMap() {
			of = of.Fields[1].Message
		}
		return s.fieldRules(f, x) != nil || of != nil && s.annotates(of, x, seen)
	})
}

// skipped reports whether the library does not check the message of a field.
func (s source) skipped(f *protogen.Field, x Index) bool {
	rules := s.fieldRules(f, x)
	return rules != nil && skips(rules)
}

// skips reports whether the rules of a field are not about its message: if an option says so, also for the elements, or is
// about another type, as `any` for a message.
func skips(rules protoreflect.Message) bool {
	skip := ignoreOf(rules) == ignoreAlways
	each(rules, func(name string, _ protoreflect.FieldDescriptor, v protoreflect.Value) {
		switch name {
		case "repeated", "items", "map", "values", "message":
			skip = skip || skips(v.Message())
		case "skip":
			skip = skip || v.Bool()
		case "any":
			skip = true
		}
	})
	return skip
}

func join(path []string, name string) string {
	return strings.Join(append(slices.Clone(path), name), ".")
}

func newDeriver(x Index, why string, f *protogen.Field, path []string, present string) *deriver {
	at := join(path, string(f.Desc.Name()))
	return &deriver{index: x, why: why, message: f.Parent, path: path, field: f, at: at, present: present}
}

// A deriver derives the rules of one field, or of a message as a whole.
type deriver struct {
	index   Index
	why     string
	option  string            // the annotation, such as string.min_len
	message *protogen.Message // that has the field
	path    []string          // of the message
	field   *protogen.Field   // nil: the rules are those of the message as a whole
	oneofs  []string          // the fields of the message that have no rules while they are empty
	at      string
	present string // the path of a message that may be absent
	element bool   // the rules are about its elements
	empty   bool   // an empty value has no rules
	zero    bool   // nor has a zero that is there, for which there is no condition
	out     []Rule
}

// add adds a rule about the field. Protovalidate requires a member of a oneof, protoc-gen-validate only its value if it is
// chosen. A message that is an element is always there. An empty value does not fulfil `required`.
func (d *deriver) add(args string) {
	required, when, present := args == "required: true", "", d.present
	inOneof := d.field != nil && d.field.Oneof != nil && !d.field.Oneof.Desc.IsSynthetic()
	switch {
	case required && (d.why == "PGV" && inOneof || d.element && d.field.Message != nil):
		return
	case required && d.element:
		d.skip("required", true)
		return
	case !required && d.zero:
		key, value, _ := strings.Cut(args, ": ")
		d.skip(key, value+" unless zero")
		return
	case !required && d.empty && (d.field == nil || !d.field.Desc.HasPresence()):
		present = d.at // rules ignore an absent value there
	}
	if present != "" {
		when = ", when: {present: " + word(present) + "}"
	}
	at := ""
	if d.at != "" {
		at = "at: " + word(d.at) + ", "
	}
	d.out = append(d.out, Rule{Line: fmt.Sprintf("{%s%s%s, why: %s}", at, args, when, d.why), Origin: d.origin()})
}

// origin names the annotation, its library, and the field or message that has it.
func (d *deriver) origin() string {
	subject := strings.TrimPrefix(strings.TrimPrefix(d.at, strings.Join(d.path, ".")), ".")
	return fmt.Sprintf("%s (%s) of %s", d.option, d.why, strings.TrimSuffix(string(d.message.Desc.FullName())+"."+subject, "."))
}

// skip notes a constraint that is not expressed.
func (d *deriver) skip(name string, v any) {
	of := ""
	if d.element {
		of = " of elements"
	}
	r := Rule{Message: d.message, In: strings.Join(d.path, "."), Origin: d.origin()}
	about := cmp.Or(d.at, string(d.message.Desc.Name()))
	r.At = about
	if d.field != nil {
		r.Field = strings.Trim(strings.TrimPrefix(d.at, r.In), ".") // with the part of a map
	}
	r.Comment = strings.Join(strings.Fields(fmt.Sprintf("%s: %s%s = %v is not expressed (%s)", about, name, of, shown(v), d.why)), " ")
	d.out = append(d.out, r)
}

// shown is a value as a comment shows it.
func shown(v any) any {
	value, ok := v.(protoreflect.Value)
	if !ok {
		return v
	}
	switch x := value.Interface().(type) {
	case protoreflect.List:
		texts := slice.Map(elements(value), func(v protoreflect.Value) string { return fmt.Sprint(shown(v)) })
		return "[" + strings.Join(texts, ", ") + "]"
	case protoreflect.Message:
		if fields := x.Descriptor().Fields(); fields.ByName("seconds") != nil && fields.ByName("nanos") != nil {
			text := new(big.Rat).SetFrac(nanoseconds(x), big.NewInt(1e9)).FloatString(9)
			return strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "s"
		}
		return x.Interface()
	case []byte:
		return strconv.Quote(string(x))
	case string:
		return strconv.Quote(x)
	default:
		return x
	}
}

// elements are the elements of a list, or a value that is not a list.
func elements(v protoreflect.Value) []protoreflect.Value {
	list, ok := v.Interface().(protoreflect.List)
	if !ok {
		return []protoreflect.Value{v}
	}
	out := make([]protoreflect.Value, list.Len())
	for i := range out {
		out[i] = list.Get(i)
	}
	return out
}

// each calls f for the fields of m that are set, in the order of their numbers.
func each(m protoreflect.Message, f func(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value)) {
	var set []protoreflect.FieldDescriptor
	for fd := range m.Range {
		set = append(set, fd)
	}
	slices.SortFunc(set, func(a, b protoreflect.FieldDescriptor) int { return int(a.Number() - b.Number()) })
	for _, fd := range set {
		f(string(fd.Name()), fd, m.Get(fd))
	}
}

// fieldRules derives the rules of one FieldRules message, or of one MessageRules message.
func (d *deriver) fieldRules(rules protoreflect.Message) {
	if d.field != nil {
		switch ignore := ignoreOf(rules); ignore {
		case ignoreZero, ignoreDefault:
			d.empty, d.zero = true, d.element || ignore == ignoreDefault && d.field.Desc.HasPresence()
		case ignoreAlways:
			return
		}
	}
	outer := d.option
	each(rules, func(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value) {
		d.option = outer + name
		switch {
		case name == "ignore" && d.field != nil, name == "disabled" && d.field == nil:
		case name == "required" && d.field != nil:
			if v.Bool() {
				d.add("required: true")
			}
		case name == "cel" || name == "cel_expression":
			for _, cel := range elements(v) {
				d.expression("cel", celText(cel))
			}
		case name == "oneof" && d.field == nil:
			for _, oneof := range elements(v) {
				d.messageOneof(oneof.Message())
			}
		case fd.Message() != nil && !fd.IsList() && d.field != nil:
			d.typeRules(v.Message())
		default:
			d.skip(name, v)
		}
	})
	d.option = cmp.Or(strings.TrimSuffix(outer, "."), "the option")
	d.undeclared(rules)
	d.option = outer
}

// The values of the option `ignore` of protovalidate.
const (
	ignoreZero    protoreflect.EnumNumber = 1
	ignoreDefault protoreflect.EnumNumber = 2 // of old versions
	ignoreAlways  protoreflect.EnumNumber = 3 // the messages in the field, too
)

// ignoreOf returns the option `ignore` of a FieldRules message, 0 if it is not set.
func ignoreOf(rules protoreflect.Message) protoreflect.EnumNumber {
	f := rules.Descriptor().Fields().ByName("ignore")
	if f == nil || f.Kind() != protoreflect.EnumKind {
		return 0
	}
	return rules.Get(f).Enum()
}

// messageOneof derives the rule that one of some fields has a value. They have no other rules while they have none.
func (d *deriver) messageOneof(rules protoreflect.Message) {
	var fields []string
	required := false
	each(rules, func(name string, _ protoreflect.FieldDescriptor, v protoreflect.Value) {
		switch name {
		case "fields":
			fields = slice.Map(elements(v), protoreflect.Value.String)
		case "required":
			required = v.Bool()
		}
	})
	d.oneofs = append(d.oneofs, fields...)
	if required {
		d.add("one_of: [" + strings.Join(slice.Map(fields, word), ", ") + "]")
	} else {
		d.skip("oneof", fields)
	}
}

// The patterns of header names and values that both libraries use.
const (
	headerName   = `^:?[0-9a-zA-Z!#$%&'*+-.^_|~\x60]+$`
	headerValue  = `^[^\x00-\x08\x0A-\x1F\x7F]*$`
	headerString = `^[^\x00\x0A\x0D]*$`
	headerLoose  = `^[^\x00\x0A\x0D]+$` // of protovalidate
)

// constraint derives a rule of another kind.
func (d *deriver) constraint(name string, fd protoreflect.FieldDescriptor, v protoreflect.Value, rules protoreflect.Message) {
	size := func(kind string) { d.size(kind, v.Uint(), name) }
	text := fd.Parent().Name() == "StringRules"
	switch {
	case fd.Kind() == protoreflect.BoolKind && !fd.IsList() && !v.Bool(): // no constraint
	case name == "ignore_empty", name == "strict", name == "no_sparse", name == "skip", name == "example":
	case name == "required", name == "unique":
		if name == "unique" && !d.comparable() {
			d.skip(name, v)
			return
		}
		d.add(name + ": true")
	case name == "defined_only":
		d.add("defined: true")
	case text && (name == "min_len" || name == "max_len" || name == "len"):
		size(strings.Replace(name, "len", "chars", 1))
	case text && d.element && (name == "min_bytes" || name == "max_bytes"):
		size(name)
	case text && d.element && name == "len_bytes":
		size("bytes")
	case !d.element && (name == "min_bytes" || name == "min_items" || name == "min_pairs" || name == "min_len"):
		size("min_len")
	case !d.element && (name == "max_bytes" || name == "max_items" || name == "max_pairs" || name == "max_len"):
		size("max_len")
	case !d.element && (name == "len_bytes" || name == "len"):
		size("len")
	case text && name == "pattern":
		d.add("matches: " + strconv.Quote(v.String()))
	case text && (name == "prefix" || name == "suffix" || name == "contains" || name == "not_contains"):
		d.add(name + ": " + strconv.Quote(v.String()))
	case text && (name == "uri" || name == "ip_with_prefixlen"):
		if name == "uri" && d.why != "PGV" {
			d.skip(name+" beyond the syntax that package net/url checks", v) // protovalidate follows RFC 3986
		}
		d.add("as: " + map[string]string{"uri": "url", "ip_with_prefixlen": "cidr"}[name])
	case text && name == "well_known_regex":
		strict := rules.Descriptor().Fields().ByName("strict")
		pattern := map[protoreflect.EnumNumber]string{1: headerName, 2: headerValue}[v.Enum()]
		if strict != nil && rules.Has(strict) && !rules.Get(strict).Bool() {
			if pattern = headerString; d.why != "PGV" {
				pattern = headerLoose
			}
		}
		if pattern != "" {
			d.add("matches: " + strconv.Quote(pattern))
		}
	case name == "items":
		d.elementRules(d.field, d.at, v)
	case d.field.Desc.IsMap() && (name == "keys" || name == "values"):
		part := d.field.Message.Fields[map[string]int{"keys": 0, "values": 1}[name]]
		d.elementRules(part, d.at+"."+string(part.Desc.Name()), v)
	default:
		d.skip(name, v)
	}
}

// elementRules derives the rules about the elements of a list, or about the keys or values of a map. of is the field with
// their type.
func (d *deriver) elementRules(of *protogen.Field, at string, rules protoreflect.Value) {
	inner := *d
	inner.option += "."
	inner.field, inner.at = of, at
	inner.element, inner.empty, inner.zero, inner.out = true, false, false, nil
	inner.fieldRules(rules.Message())
	d.out = append(d.out, inner.out...)
}
