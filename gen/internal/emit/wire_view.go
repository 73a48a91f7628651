package emit

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// viewOf writes the view of a message: the struct, its getters, and its parse method.
func (e *emitter) viewOf(m *protogen.Message) []jen.Code {
	name := e.views.name(m)
	var fields, methods []jen.Code
	hooked := e.views.hooked[m.Desc.FullName()]
	if hooked || len(e.views.late) > 0 && m.Desc.FullName() == e.pkg.Message.Desc.FullName() {
		fields = append(fields, jen.Id("message").Add(e.message(m)))
	}
	if hooked || e.views.wrapped[m.Desc.FullName()] {
		methods = append(methods, e.protoMethod(m))
	}
	for _, f := range m.Fields {
		if e.views.encoded[f.Desc.FullName()] {
			fields = append(fields, jen.Id(bytesOf(f)).Index().Byte())
			methods = append(methods, e.encodedMethod(f))
		}
		if !e.views.isRead(f) {
			continue
		}
		fields = append(fields, jen.Id(f.GoName).Add(e.held(f)))
		if e.flagged(f) {
			fields = append(fields, jen.Id(flag(f)).Bool())
		}
		methods = append(methods, e.getter(f))
		if e.views.has[f.Desc.FullName()] {
			methods = append(methods, e.hasMethod(m, "has"+f.GoName, e.present(f)))
		}
	}
	for _, o := range m.Oneofs {
		if o.Desc.IsSynthetic() || !e.oneofRead(o) {
			continue
		}
		fields = append(fields, jen.Id(which(o)).Int32().Comment("// the number of the member that is set"))
		if e.views.has[o.Desc.FullName()] {
			methods = append(methods, e.hasMethod(m, "has"+o.GoName, jen.Id("m").Dot(which(o)).Op("!=").Lit(0)))
		}
		if e.views.members[o.Desc.FullName()] {
			methods = append(methods, e.memberMethod(o))
		}
	}
	if e.views.sockets[m.Desc.FullName()] {
		methods = append(methods, e.socketMethod(m))
	}
	decl := jen.Add(comment(fmt.Sprintf("%s has the fields of %s that the decoder reads.", name, m.Desc.FullName()))).Line().Type().Id(name).Struct(fields...)
	return append([]jen.Code{decl, e.parse(m)}, methods...)
}

// method writes a method of the view of m.
func (e *emitter) viewMethod(m *protogen.Message, name string) *jen.Statement {
	return jen.Func().Params(jen.Id("m").Add(e.view(m))).Id(name)
}

// protoMethod writes the method that returns the whole message, or makes a wrapper.
func (e *emitter) protoMethod(m *protogen.Message) jen.Code {
	whole := jen.Id("m").Dot("message")
	if e.views.wrapped[m.Desc.FullName()] {
		whole = jen.Op("&").Add(e.ident(m.GoIdent)).Values(jen.Id("Value").Op(":").Id("m").Dot("Value"))
	}
	return e.viewMethod(m, "proto").Params().Add(e.message(m)).Block(
		jen.If(jen.Id("m").Op("==").Nil()).Block(jen.Return(jen.Nil())),
		jen.Return(whole),
	)
}

// bytesOf is the member of a view that holds an encoded message.
func bytesOf(f *protogen.Field) string { return "bytes" + f.GoName }

// encodedMethod writes the method that returns an encoded message.
func (e *emitter) encodedMethod(f *protogen.Field) jen.Code {
	absent := jen.Id("m").Op("==").Nil()
	if o := member(f); o != nil {
		absent.Op("||").Id("m").Dot(which(o)).Op("!=").Lit(int(f.Desc.Number()))
	}
	return e.viewMethod(f.Parent, "encoded"+f.GoName).Params().Index().Byte().Block(
		jen.If(absent).Block(jen.Return(jen.Nil())),
		jen.Return(jen.Id("m").Dot(bytesOf(f))),
	)
}

// hasMethod writes a method that reports whether a value is set.
func (e *emitter) hasMethod(m *protogen.Message, name string, present jen.Code) jen.Code {
	return e.viewMethod(m, name).Params().Bool().Block(jen.Return(jen.Id("m").Op("!=").Nil().Op("&&").Add(present)))
}

// socketMethod writes the method that reads an address.
func (e *emitter) socketMethod(m *protogen.Message) jen.Code {
	s := jen.Id("s")
	socket := func(kind string, values ...jen.Code) jen.Code {
		values = append([]jen.Code{jen.Id("Kind").Op(":").Add(e.convert(kind))}, values...)
		return jen.Return(e.convert("Socket").Values(values...))
	}
	text := func(getter string) jen.Code { return jen.Id("Text").Op(":").Add(s).Dot(getter).Call() }
	return e.viewMethod(m, "socket").Params().Add(e.convert("Socket")).Block(
		jen.Switch(jen.Add(s).Op(":=").Id("m").Dot("GetSocketAddress").Call(), jen.Empty()).Block(
			jen.Case(jen.Id("m").Op("==").Nil()).Block(socket("NoAddress")),
			jen.Case(jen.Add(s).Op("==").Nil()).Block(socket("OtherSocket")),
			jen.Case(jen.Add(s).Dot("hasNamedPort").Call()).Block(socket("NamedPort", text("GetNamedPort"))),
			jen.Default().Block(socket("HostAndPort", text("GetAddress"), jen.Id("Port").Op(":").Add(s).Dot("GetPortValue").Call())),
		),
	)
}

func flag(f *protogen.Field) string  { return "set" + f.GoName }
func which(o *protogen.Oneof) string { return "which" + o.GoName }

// member is the oneof of protobuf that a field is a member of, or nil.
func member(f *protogen.Field) *protogen.Oneof {
	if f.Oneof == nil || f.Oneof.Desc.IsSynthetic() {
		return nil
	}
	return f.Oneof
}

// oneofRead reports whether a view notes which member of a oneof is set.
func (e *emitter) oneofRead(o *protogen.Oneof) bool {
	return e.views.fields[o.Desc.FullName()] || slices.ContainsFunc(o.Fields, e.views.isRead)
}

// single reports whether a field is neither repeated nor a map.
func single(f *protogen.Field) bool { return !f.Desc.IsList() && !f.Desc.IsMap() }

// pointed reports whether a view holds the one message of a field by a pointer: where
// protobuf unmarshals it, and where it would hold itself.
func (e *emitter) pointed(f *protogen.Field) bool {
	return f.Message != nil && single(f) && (!e.inPlace(f) || native(f.Message) == "" && e.reaches(f.Message, f.Parent, nil))
}

// reaches reports whether the view of one message holds that of another by value, if
// no field were a pointer.
func (e *emitter) reaches(from, to *protogen.Message, seen []*protogen.Message) bool {
	if from.Desc.FullName() == to.Desc.FullName() {
		return true
	}
	return !slices.Contains(seen, from) && slices.ContainsFunc(from.Fields, func(f *protogen.Field) bool {
		return e.views.isRead(f) && single(f) && f.Message != nil && e.viewed(f.Message) && e.reaches(f.Message, to, append(seen, from))
	})
}

// flagged reports whether a view notes in a bool that there is a value.
func (e *emitter) flagged(f *protogen.Field) bool {
	return single(f) && member(f) == nil && f.Desc.HasPresence() && !e.pointed(f)
}

// present is the condition that there is a value.
func (e *emitter) present(f *protogen.Field) *jen.Statement {
	m := jen.Id("m")
	switch o := member(f); {
	case o != nil:
		return m.Dot(which(o)).Op("==").Lit(int(f.Desc.Number()))
	case e.pointed(f):
		return m.Dot(f.GoName).Op("!=").Nil()
	default:
		return m.Dot(flag(f))
	}
}

// held is the Go type of a field of a view.
func (e *emitter) held(f *protogen.Field) *jen.Statement {
	switch {
	case f.Desc.IsMap():
		return jen.Map(e.mapPart(f.Message.Fields[0])).Add(e.mapPart(f.Message.Fields[1]))
	case f.Message != nil && f.Desc.IsList():
		return jen.Index().Add(e.element(f))
	case f.Message != nil && e.pointed(f):
		return e.view(f.Message)
	case f.Message != nil:
		return e.viewType(f.Message)
	case f.Desc.IsList():
		return jen.Index().Add(e.scalarType(f))
	}
	return e.scalarType(f)
}

// mapPart is the Go type of the keys or values of a map.
func (e *emitter) mapPart(f *protogen.Field) *jen.Statement {
	if f.Message != nil {
		return e.view(f.Message)
	}
	return e.scalarType(f)
}

// scalarType is the Go type of a field without a message.
func (e *emitter) scalarType(f *protogen.Field) *jen.Statement {
	return jen.Add(e.pathScalar(model.Path{Steps: []model.Step{{Field: f}}}))
}

// getter writes the getter of a field; it may be called on nil.
func (e *emitter) getter(f *protogen.Field) jen.Code {
	name, _ := f.MethodName("Get")
	m := jen.Id("m")
	value := jen.Add(m).Dot(f.GoName)
	absent := jen.Add(m).Op("==").Nil()
	typ, zero := e.held(f), jen.Code(jen.Nil())
	byValue := f.Message != nil && single(f) && !e.pointed(f)
	if byValue {
		typ, value = e.view(f.Message), jen.Op("&").Add(value)
	}
	switch {
	case member(f) != nil:
		absent.Op("||").Add(m).Dot(which(f.Oneof)).Op("!=").Lit(int(f.Desc.Number()))
	case byValue:
		absent.Op("||").Op("!").Add(e.present(f))
	}
	if f.Message == nil && single(f) {
		zero = zeroOf(model.Path{Steps: []model.Step{{Field: f}}}.Class())
	}
	return e.viewMethod(f.Parent, name).Params().Add(typ).Block(
		jen.If(absent).Block(jen.Return(zero)),
		jen.Return(value),
	)
}

// zeroOf is the zero value of a scalar.
func zeroOf(c model.Class) jen.Code {
	switch c {
	case model.String:
		return jen.Lit("")
	case model.Bool:
		return jen.False()
	case model.Bytes:
		return jen.Nil()
	default:
		return jen.Lit(0)
	}
}
