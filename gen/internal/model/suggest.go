package model

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
)

// A Suggestion is a field that a descriptor may have.
type Suggestion struct {
	Line  string // as the descriptor says it
	About string // the protobuf type, with remarks
}

// A SuggestedStruct is a struct that suggested fields need.
type SuggestedStruct struct {
	Name    string
	Message string // full name
}

// Suggest makes a line for each field of a message but the one that names the
// resource, which is empty where there is none.
func Suggest(m *protogen.Message) (nameField string, fields []Suggestion, structs []SuggestedStruct) {
	s := &suggester{taken: make(map[string]string)}
	for name := range strings.FieldsSeq(FixedNames) {
		s.taken[name] = "generated"
	}
	nameField = suggestedName(m)
	for _, f := range m.Fields {
		if string(f.Desc.Name()) != nameField {
			fields = append(fields, Suggestion{s.line(f), about(f)})
		}
	}
	return nameField, fields, s.structs
}

// suggestedName is the field that carries the resource's name, most likely.
func suggestedName(m *protogen.Message) string {
	second := ""
	for _, f := range m.Fields {
		switch name := string(f.Desc.Name()); {
		case classOf(f) != String || f.Desc.IsList() || isWrapper(f):
		case name == "name":
			return name
		case strings.HasSuffix(name, "_name") && f.Desc.Number() == 1:
			second = name
		}
	}
	return second
}

// A suggester keeps suggested names apart.
type suggester struct {
	taken   map[string]string // by Go name: the owner of the name
	structs []SuggestedStruct
}

// line is a field as a descriptor says it.
func (s *suggester) line(f *protogen.Field) string {
	p := Path{From: f.Parent, Steps: []Step{{Field: f}}}
	field := Field{Paths: []Path{p}, List: p.Many()}
	if p.Class() == Map {
		field.Key = kindClass(f.Message.Fields[0].Desc.Kind())
	}
	element := field.element()
	name := GoName(string(f.Desc.Name()))
	if slices.Contains(updateMethods(), name) {
		name = Short(f.Parent) + name
	}
	key := "struct"
	if field.List || field.IsMap() {
		key = "each"
	}
	becomes := ""
	switch element.Class() {
	case Message:
		becomes = ", " + key + ": " + s.structOf(element.Message())
	case Any:
		becomes = ", any: some.v1.Message, " + key + ": Message"
	case Enumeration:
		becomes = ", enum: all, type: " + s.name(GoName(string(element.Leaf().Enum.Desc.Name())), string(element.Leaf().Enum.Desc.FullName()))
	default:
	}
	return fmt.Sprintf("{name: %s, from: %s%s, doc: …}", name, f.Desc.Name(), becomes)
}

// structOf is the struct that a message becomes.
func (s *suggester) structOf(m *protogen.Message) string {
	full := string(m.Desc.FullName())
	name := s.name(strings.ReplaceAll(Short(m), ".", ""), full)
	if !slices.ContainsFunc(s.structs, func(o SuggestedStruct) bool { return o.Name == name }) {
		s.structs = append(s.structs, SuggestedStruct{name, full})
	}
	return name
}

// name is a Go name that nothing else than of has.
func (s *suggester) name(base, of string) string {
	name := base
	for i := 2; s.taken[name] != "" && s.taken[name] != of; i++ {
		name = fmt.Sprint(base, i)
	}
	s.taken[name] = of
	return name
}

// about returns the protobuf type of a field, with remarks.
func about(f *protogen.Field) string {
	var out string
	switch {
	case f.Desc.IsMap():
		out = "map<" + kind(f.Message.Fields[0]) + ", " + kind(f.Message.Fields[1]) + ">"
	case f.Desc.IsList():
		out = "repeated " + kind(f)
	default:
		out = kind(f)
	}
	if f.Oneof != nil && !f.Oneof.Desc.IsSynthetic() {
		out += ", in oneof " + string(f.Oneof.Desc.Name())
	}
	if o, ok := f.Desc.Options().(interface{ GetDeprecated() bool }); ok && o.GetDeprecated() {
		out += ", deprecated"
	}
	return out
}

// kind is the type of a field's value as a proto file names it.
func kind(f *protogen.Field) string {
	switch {
	case f.Message != nil:
		return string(f.Message.Desc.FullName())
	case f.Enum != nil:
		return string(f.Enum.Desc.FullName())
	}
	return f.Desc.Kind().String()
}

// GoName is a name of protobuf as people write it in Go: "lb_policy" is LBPolicy.
func GoName(name string) string {
	var out strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part == "" {
			continue
		}
		if upper := strings.ToUpper(part); slices.Contains(initialisms(), upper) {
			out.WriteString(upper)
		} else {
			out.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return out.String()
}

func initialisms() []string {
	return []string{
		"ACL", "API", "CA", "CPU", "CRL", "DNS", "EDS", "GRPC", "HTTP", "HTTPS", "ID", "IP", "JSON", "JWT", "LB", "RPC",
		"SDS", "SNI", "SQL", "TCP", "TLS", "TTL", "UDP", "URI", "URL", "UUID", "XDS",
	}
}
