package model

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/compiler/protogen"
)

// A Suggestion is a field that a descriptor may have.
type Suggestion struct {
	Lines []string // as the descriptor says it; the first one has the remark
	About string   // the protobuf type, with remarks
}

// A SuggestedStruct is a struct that suggested fields need.
type SuggestedStruct struct {
	Name    string
	Message string       // full name
	Fields  []Suggestion // none if the suggestions are long enough
	of      *protogen.Message
}

// suggestedLines is the number of lines after which structs have no fields: they fit a screen.
const suggestedLines = 40

// A suggester keeps suggested names apart.
type suggester struct {
	taken   Names             // of Go
	named   map[string]string // by full name of a message or enum: its Go name
	structs []SuggestedStruct
	lines   int
}

// Suggest makes suggestions for the fields of a message but the one that names the resource, which is
// empty if there is none. The structs of the fields have fields, too, until the suggestions are long
// enough.
func Suggest(m *protogen.Message) (nameField string, fields []Suggestion, structs []SuggestedStruct) {
	s := &suggester{taken: make(Names), named: make(map[string]string)}
	for name := range strings.FieldsSeq(FixedNames) {
		s.taken[name] = true
	}
	nameField = suggestedName(m)
	fields = s.fields(m, nameField)
	for i := 0; i < len(s.structs) && s.lines < suggestedLines; i++ {
		inner := s.fields(s.structs[i].of, "")
		s.structs[i].Fields = inner
	}
	return nameField, fields, s.structs
}

// fields makes suggestions for the fields of a message. A oneof is one field.
func (s *suggester) fields(m *protogen.Message, nameField string) []Suggestion {
	var out []Suggestion
	for _, f := range m.Fields {
		o := f.Oneof
		switch {
		case string(f.Desc.Name()) == nameField:
			continue
		case o == nil || o.Desc.IsSynthetic() || len(o.Fields) == 1:
			out = append(out, Suggestion{[]string{"- " + s.line(f)}, about(f)})
		case f == o.Fields[0]:
			out = append(out, Suggestion{s.oneof(o), "oneof " + string(o.Desc.Name())})
		default:
			continue
		}
		s.lines += len(out[len(out)-1].Lines)
	}
	return out
}

// oneof makes the lines of a oneof.
func (s *suggester) oneof(o *protogen.Oneof) []string {
	name := GoName(string(o.Desc.Name()))
	lines := append(make([]string, 0, 3+len(o.Fields)), "- name: "+name)
	if s.taken[name] {
		lines = append(lines, "  type: "+s.taken.Take(strings.ReplaceAll(Short(o.Parent), ".", "")+name))
	}
	s.taken[name] = true
	lines = append(lines, "  oneof:")
	for _, f := range o.Fields {
		name, again := f.Desc.Name(), func(other *protogen.Field) bool { return other != f && other.Message == f.Message }
		var typ string
		switch {
		case f.Message != nil && f.Message.Desc.FullName() == "google.protobuf.Empty":
			typ = s.taken.Take(GoName(string(name)))
			lines = append(lines, fmt.Sprintf("    - {case: %s, from: %s, fields: []}", typ, name))
		case classOf(f) == Message && f.Message != o.Parent && !slices.ContainsFunc(o.Fields, again):
			typ = s.structOf(f.Message)
			lines = append(lines, fmt.Sprintf("    - {case: %s, from: %s, struct: %s}", typ, name, typ))
		default: // the case has the name of the field
			typ = s.taken.Take(GoName(string(name)))
			lines = append(lines, fmt.Sprintf("    - {case: %s, when: {present: %s}, fields: [%s]}", typ, name, s.line(f)))
		}
	}
	return lines
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

// line is a field as a descriptor says it.
func (s *suggester) line(f *protogen.Field) string {
	p := Path{From: f.Parent, Steps: []Step{{Field: f}}}
	field := Field{Paths: []Path{p}, List: p.Many()}
	if p.Class() == Map {
		field.Key = classOf(f.Message.Fields[0])
	}
	element := field.element()
	name := GoName(string(f.Desc.Name()))
	if slices.Contains(updateMethods(), name) {
		name = Short(f.Parent) + name
	}
	becomes, key := "", field.structKey()
	switch element.Class() {
	case Message:
		becomes = ", " + key + ": " + s.structOf(element.Message())
		if key == "struct" && holds(element.Message(), f.Parent, make(map[*protogen.Message]bool)) {
			becomes += ", optional: true"
		}
	case Any:
		becomes = ", any: some.v1.Message, " + key + ": Message"
	case Enumeration:
		becomes = ", enum: all, type: " + s.name(GoName(string(element.Leaf().Enum.Desc.Name())), string(element.Leaf().Enum.Desc.FullName()))
	default:
	}
	return fmt.Sprintf("{name: %s, from: %s%s, doc: …}", name, f.Desc.Name(), becomes)
}

// holds reports whether the struct of a message would contain that of another by value. It skips messages that it has seen.
func holds(m, inner *protogen.Message, seen map[*protogen.Message]bool) bool {
	if m == inner || seen[m] {
		return m == inner
	}
	seen[m] = true
	return slices.ContainsFunc(m.Fields, func(f *protogen.Field) bool {
		alone := f.Oneof == nil || f.Oneof.Desc.IsSynthetic() || len(f.Oneof.Fields) == 1
		return alone && classOf(f) == Message && !f.Desc.IsList() && holds(f.Message, inner, seen)
	})
}

// structOf is the struct that a message becomes.
func (s *suggester) structOf(m *protogen.Message) string {
	full := string(m.Desc.FullName())
	if s.named[full] == "" {
		name := s.name(strings.ReplaceAll(Short(m), ".", ""), full)
		s.structs = append(s.structs, SuggestedStruct{Name: name, Message: full, of: m})
	}
	return s.named[full]
}

// name is the Go name of a message or enum.
func (s *suggester) name(base, of string) string {
	if s.named[of] == "" {
		s.named[of] = s.taken.Take(base)
	}
	return s.named[of]
}

// about returns the protobuf type of a field, with remarks.
func about(f *protogen.Field) string {
	out := kind(f)
	switch {
	case f.Desc.IsMap():
		out = "map<" + kind(f.Message.Fields[0]) + ", " + kind(f.Message.Fields[1]) + ">"
	case f.Desc.IsList():
		out = "repeated " + out
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
