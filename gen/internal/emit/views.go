package emit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Views are the structs that a decoder of the kind `wire` reads instead of messages. There
// is one for each message from which a field is read. It has the getters of that message
// and a method that fills it from bytes. The emitter notes a field when it writes code that
// reads the field. Therefore no field is missing and none is unused.
type views struct {
	fields  map[protoreflect.FullName]bool // fields and oneofs that are read
	parents map[protoreflect.FullName]bool // messages that have such
	has     map[protoreflect.FullName]bool // fields and oneofs whose presence is looked at
	hooked  map[protoreflect.FullName]bool // messages that hooks are given
	wrapped map[protoreflect.FullName]bool // wrappers that hooks are given, which are made of views
	members map[protoreflect.FullName]bool // oneofs whose set member matters
	sockets map[protoreflect.FullName]bool // messages that are read as addresses
	encoded map[protoreflect.FullName]bool // fields that hooks are given as bytes
	late    map[string]bool                // profiles in which hooks are given the resource's message
	types   map[protoreflect.FullName]*protogen.Message
	names   map[protoreflect.FullName]string
}

func newViews() *views {
	set := func() map[protoreflect.FullName]bool { return make(map[protoreflect.FullName]bool) }
	return &views{
		fields: set(), parents: set(), has: set(), hooked: set(), wrapped: set(), members: set(), sockets: set(), encoded: set(),
		late:  make(map[string]bool),
		types: make(map[protoreflect.FullName]*protogen.Message), names: make(map[protoreflect.FullName]string),
	}
}

// size grows whenever something new is noted.
func (v *views) size() int {
	if v == nil {
		return 0
	}
	return len(v.fields) + len(v.has) + len(v.hooked) + len(v.wrapped) + len(v.members) + len(v.sockets) + len(v.encoded) + len(v.late) + len(v.types)
}

// read notes that a field is read, and of a wrapper its value.
func (v *views) read(f *protogen.Field) {
	if v != nil {
		v.fields[f.Desc.FullName()] = true
		v.parents[f.Parent.Desc.FullName()] = true
		if (model.Path{Steps: []model.Step{{Field: f}}}).Wrapper() {
			v.read(f.Message.Fields[0])
		}
	}
}

// isRead reports whether a field is.
func (v *views) isRead(f *protogen.Field) bool { return v.fields[f.Desc.FullName()] }

// hasField is the method that tells whether a field has a value; empty: there is
// none.
func (e *emitter) hasField(f *protogen.Field) string {
	if e.views == nil || native(f.Parent) != "" {
		name, _ := f.MethodName("Has")
		return name
	}
	e.views.read(f)
	e.views.has[f.Desc.FullName()] = true
	return "has" + f.GoName
}

// hasOneof is [emitter.hasField] of a oneof.
func (e *emitter) hasOneof(o *protogen.Oneof) string {
	if e.views == nil || native(o.Parent) != "" {
		return o.MethodName("Has")
	}
	e.views.fields[o.Desc.FullName()] = true
	e.views.parents[o.Parent.Desc.FullName()] = true
	e.views.has[o.Desc.FullName()] = true
	return "has" + o.GoName
}

// native returns the function of package wire that reads a well-known type. A view holds
// such a type as its protobuf struct. It returns "" for other types.
func native(m *protogen.Message) string {
	name, known := strings.CutPrefix(string(m.Desc.FullName()), "google.protobuf.")
	switch name {
	case "Any", "Duration", "Timestamp":
		if known {
			return name
		}
	}
	return ""
}

// json reports whether a message is one of those that stand for JSON.
func json(m *protogen.Message) bool {
	switch m.Desc.FullName() {
	case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue":
		return true
	}
	return false
}

// whole reports whether a message is unmarshalled by protobuf: where only hooks look
// at it, or JSON is made of it.
func (v *views) whole(m *protogen.Message) bool {
	name := m.Desc.FullName()
	return json(m) || v.hooked[name] && !v.parents[name]
}

// viewed reports whether a message is read through a view.
func (e *emitter) viewed(m *protogen.Message) bool {
	return e.views != nil && native(m) == "" && !e.views.whole(m)
}

// view returns the Go pointer type for the fields of a message that the decoder reads.
func (e *emitter) view(m *protogen.Message) *jen.Statement { return jen.Op("*").Add(e.viewType(m)) }

// viewType is [emitter.view] without the pointer.
func (e *emitter) viewType(m *protogen.Message) *jen.Statement {
	if !e.viewed(m) {
		return e.ident(m.GoIdent)
	}
	return jen.Id(e.views.name(m))
}

// name is the name of the view of a message.
func (v *views) name(m *protogen.Message) string {
	full := m.Desc.FullName()
	v.types[full] = m
	if name, ok := v.names[full]; ok {
		return name
	}
	base := "wire" + strings.ReplaceAll(m.GoIdent.GoName, "_", "")
	name := base
	for i := 2; v.taken(name); i++ {
		name = fmt.Sprint(base, i)
	}
	v.names[full] = name
	return name
}

func (v *views) taken(name string) bool {
	for _, other := range v.names {
		if other == name {
			return true
		}
	}
	return false
}

// element is the Go type of an element of a repeated message, as a view has it.
func (e *emitter) element(f *protogen.Field) *jen.Statement {
	if e.inPlace(f) {
		return e.viewType(f.Message)
	}
	return e.view(f.Message)
}

// inPlace reports whether the messages of a field are held by value.
func (e *emitter) inPlace(f *protogen.Field) bool {
	return e.views != nil && f.Message != nil && native(f.Parent) == "" && !e.views.whole(f.Message)
}

// elements returns the expression over which the loop of a repeated field ranges.
func (e *emitter) elements(x jen.Code, list model.Path) *jen.Statement {
	if e.inPlace(list.Leaf()) {
		return e.qual(wirePkg, "Each").Call(x)
	}
	return jen.Add(x)
}

// isLate reports whether a check is a hook about the resource's message that is only
// called in one profile: then the message is unmarshalled only there.
func (f *fn) isLate(c *model.Check) bool {
	root := f.pkg.Message.Desc.FullName()
	if f.views == nil || !f.root || c.When.Profile == "" || len(c.Path.Steps) > 0 || f.views.hooked[root] || !f.views.parents[root] {
		return false
	}
	f.views.late[c.When.Profile] = true
	return true
}

// asked returns the value at a path in the form that hooks get. Messages are whole.
func (f *fn) asked(m jen.Code, p model.Path) jen.Code {
	if o := p.Oneof(); o != nil {
		return f.member(m, p, o)
	}
	x := f.get(m, p)
	leaf := p.Leaf()
	switch {
	case f.views == nil || leaf == nil || leaf.Message == nil:
		return x
	case leaf.Desc.IsMap():
		value := leaf.Message.Fields[1].Message
		if value == nil || !f.hook(value) {
			return x
		}
		return f.qual(wirePkg, "MessageMap").Call(x, jen.Parens(f.view(value)).Dot("proto"))
	case !p.ToList():
		return f.askedMessage(x, leaf.Message)
	case native(leaf.Message) != "":
		return f.qual(wirePkg, "Pointers").Call(x)
	case f.hook(leaf.Message):
		return f.qual(wirePkg, "Messages").Call(x, jen.Parens(f.view(leaf.Message)).Dot("proto"))
	}
	return x
}

// member is the number of the member of a oneof that is set.
func (f *fn) member(m jen.Code, p model.Path, o *protogen.Oneof) jen.Code {
	parent := f.get(m, p.Parent())
	if f.views == nil || native(o.Parent) != "" {
		return f.convert("Member").Call(parent, jen.Lit(string(o.Desc.Name())))
	}
	return parent.Dot(f.memberOf(o)).Call()
}

// encoded is the message at a path as it is encoded.
func (f *fn) encoded(m jen.Code, p model.Path) jen.Code {
	leaf := p.Leaf()
	if f.views == nil || native(leaf.Parent) != "" {
		return f.convert("Encoded").Call(f.get(m, p))
	}
	f.views.encoded[leaf.Desc.FullName()] = true
	f.views.parents[leaf.Parent.Desc.FullName()] = true
	if o := member(leaf); o != nil {
		f.views.fields[o.Desc.FullName()] = true
	}
	return f.get(m, p.Parent()).Dot("encoded" + leaf.GoName).Call()
}

// askedMessage is the message x, of type m, as a hook is given it.
func (f *fn) askedMessage(x jen.Code, m *protogen.Message) jen.Code {
	if f.views == nil || !f.hook(m) {
		return x
	}
	return jen.Add(x).Dot("proto").Call()
}

// hook notes that a hook is given a message, and reports whether it has a view
// nevertheless.
func (e *emitter) hook(m *protogen.Message) bool {
	switch {
	case native(m) != "":
	case m.Desc.ParentFile().Path() == "google/protobuf/wrappers.proto":
		e.views.read(m.Fields[0])
		e.views.wrapped[m.Desc.FullName()] = true
	default:
		e.views.hooked[m.Desc.FullName()] = true
	}
	return e.viewed(m)
}

// An UnsupportedError is about a field that a decoder of the kind `wire` cannot
// read.
type UnsupportedError struct {
	Field  string // full name
	Reason string
}

// Error says which field and why.
func (e *UnsupportedError) Error() string { return e.Field + ", which " + e.Reason }

// supported reports fields that views do not support. Messages of proto3 have none.
func (v *views) supported() error {
	if v == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v.parents)) {
		m, ok := v.types[name]
		if !ok {
			continue
		}
		for _, f := range m.Fields {
			reason := ""
			switch {
			case f.Desc.Cardinality() == protoreflect.Required:
				reason = "is required"
			case f.Desc.Kind() == protoreflect.GroupKind:
				reason = "is a group"
			case f.Enum != nil && f.Enum.Desc.IsClosed():
				reason = "is a closed enum"
			}
			if reason != "" {
				return &UnsupportedError{Field: string(f.Desc.FullName()), Reason: reason}
			}
		}
	}
	return nil
}
