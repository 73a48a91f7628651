package emit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// wire writes the views.
func (e *emitter) wire() []jen.Code {
	if e.views == nil {
		return nil
	}
	return slice.FlatMap(e.views.messages, e.viewOf)
}

// viewOf writes the view of a message: the struct, its getters, and its parse method.
func (e *emitter) viewOf(m *protogen.Message) []jen.Code {
	name, uses := e.views.names[m.Desc.FullName()], e.pkg.Uses
	var fields, methods []jen.Code
	field := func(text string, args ...any) { fields = append(fields, e.Src(text, args...)) }
	method := func(text string, args ...any) {
		methods = append(methods, e.Src("func (m *"+name+") "+text, args...))
	}
	hooked := uses.Has(m.Desc, model.Whole)
	if hooked || len(e.pkg.Late) > 0 && m == e.pkg.Message {
		field("message $", e.message(m))
	}
	if hooked {
		method("proto() $ {\nif m == nil {\nreturn nil\n}\nreturn m.message\n}", e.message(m))
	}
	for _, f := range m.Fields {
		if uses.Has(f.Desc, model.Encoded) {
			field("$ []byte", bytesOf(f))
			method("encoded$() []byte {\nif m == nil$ {\nreturn nil\n}\nreturn m.$\n}", f.GoName, e.otherMember(f), bytesOf(f))
		}
		if !e.isRead(f) {
			continue
		}
		field("$ $", f.GoName, e.held(f))
		if e.flagged(f) {
			field("$ bool", flag(f))
		}
		e.getter(f, method)
		if uses.Has(f.Desc, model.Presence) {
			method("has$() bool {\nreturn m != nil && $\n}", f.GoName, e.present(f))
		}
	}
	for _, o := range m.Oneofs {
		if o.Desc.IsSynthetic() || !e.oneofRead(o) {
			continue
		}
		field("$ int32 // the number of the member that is set", which(o))
		if uses.Has(o.Desc, model.Presence) {
			method("has$() bool {\nreturn m != nil && m.$ != 0\n}", o.GoName, which(o))
		}
		if uses.Has(o.Desc, model.Member) {
			method("member$() int32 {\nif m == nil {\nreturn 0\n}\nreturn m.$\n}", o.GoName, which(o))
		}
	}
	if uses.Has(m.Desc, model.Socket) {
		methods = append(methods, e.template("socket")...)
	}
	doc := fmt.Sprintf("%s has the fields of %s that the decoder reads.", name, m.Desc.FullName())
	return append([]jen.Code{e.documented(doc, "type $ struct {\n$\n}", name, fields), e.parse(m)}, methods...)
}

// bytesOf is the field of a view that holds an encoded message.
func bytesOf(f *protogen.Field) string { return "bytes" + f.GoName }

func flag(f *protogen.Field) string  { return "set" + f.GoName }
func which(o *protogen.Oneof) string { return "which" + o.GoName }

// member is the oneof of protobuf that a field is a member of, or nil.
func member(f *protogen.Field) *protogen.Oneof {
	if f.Oneof == nil || f.Oneof.Desc.IsSynthetic() {
		return nil
	}
	return f.Oneof
}

// otherMember is the condition that another member of the field's oneof is set, if the field
// is in one.
func (e *emitter) otherMember(f *protogen.Field) jen.Code {
	if o := member(f); o != nil {
		return e.Src(" || m.$ != $", which(o), int(f.Desc.Number()))
	}
	return jen.Null()
}

// oneofRead reports whether a view notes which member of a oneof is set.
func (e *emitter) oneofRead(o *protogen.Oneof) bool {
	return e.pkg.Uses.Has(o.Desc, model.Read) || slices.ContainsFunc(o.Fields, e.isRead)
}

// single reports whether a field is neither repeated nor a map.
func single(f *protogen.Field) bool { return !f.Desc.IsList() && !f.Desc.IsMap() }

// pointed reports whether a view holds the one message of a field by a pointer: where
// protobuf unmarshals it, and where it would hold itself.
func (e *emitter) pointed(f *protogen.Field) bool {
	return f.Message != nil && single(f) && (!e.inPlace(f) || model.Native(f.Message) == "" && e.reaches(f.Message, f.Parent, nil))
}

// reaches reports whether the view of one message holds that of another by value, if
// no field were a pointer.
func (e *emitter) reaches(from, to *protogen.Message, seen []*protogen.Message) bool {
	if from.Desc.FullName() == to.Desc.FullName() {
		return true
	}
	return !slices.Contains(seen, from) && slices.ContainsFunc(from.Fields, func(f *protogen.Field) bool {
		return e.isRead(f) && single(f) && f.Message != nil && e.viewed(f.Message) && e.reaches(f.Message, to, append(seen, from))
	})
}

// flagged reports whether a view notes in a bool that there is a value.
func (e *emitter) flagged(f *protogen.Field) bool {
	return single(f) && member(f) == nil && f.Desc.HasPresence() && !e.pointed(f)
}

// present is the condition that there is a value of a field that is not a pointer.
func (e *emitter) present(f *protogen.Field) *jen.Statement {
	if o := member(f); o != nil {
		return e.Src("m.$ == $", which(o), int(f.Desc.Number()))
	}
	return e.Src("m.$", flag(f))
}

// held is the Go type of a field of a view, or of the key or value of a map.
func (e *emitter) held(f *protogen.Field) *jen.Statement { return e.fieldType(f, e.element) }

// getter writes the getter of a field; it may be called on nil.
func (e *emitter) getter(f *protogen.Field, method func(string, ...any)) {
	name, _ := f.MethodName("Get")
	typ, value, zero, absent := e.held(f), "m."+f.GoName, "nil", e.otherMember(f)
	if f.Message != nil && single(f) && !e.pointed(f) {
		typ, value = e.view(f.Message), "&"+value
		if member(f) == nil {
			absent = e.Src(" || !$", e.present(f))
		}
	}
	if f.Message == nil && single(f) {
		zero = cmp.Or(map[protoreflect.Kind]string{
			protoreflect.StringKind: `""`, protoreflect.BoolKind: "false", protoreflect.BytesKind: "nil",
		}[f.Desc.Kind()], "0")
	}
	method("$() $ {\nif m == nil$ {\nreturn $\n}\nreturn $\n}", name, typ, absent, zero, value)
}
