package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// parse writes the method that fills the view of a message.
func (e *emitter) parse(m *protogen.Message) jen.Code {
	r := jen.Id("r")
	var cases []jen.Code
	body := []jen.Code{jen.Id("outer").Op(":=").Add(r).Dot("Enter").Call()}
	for _, f := range m.Fields {
		cases = append(cases, e.parseField(f)...)
	}
	hooked := e.views.hooked[m.Desc.FullName()]
	if hooked {
		body = append(body, e.qual(wirePkg, "Whole").Call(r, jen.Op("&").Id("m").Dot("message")))
	}
	loop := []jen.Code{jen.Add(r).Dot("Skip").Call()}
	receiver := jen.Id("m").Add(e.view(m))
	if len(cases) > 0 {
		cases = append(cases, jen.Default().Block(loop...))
		loop = []jen.Code{jen.Switch(jen.Add(r).Dot("Tag").Call()).Block(cases...)}
	} else if !hooked {
		receiver = e.view(m)
	}
	body = append(body, jen.For(jen.Add(r).Dot("Next").Call()).Block(loop...), jen.Add(r).Dot("Leave").Call(jen.Id("outer")))
	return jen.Func().Params(receiver).Id("parse").Params(jen.Add(r).Op("*").Add(e.qual(wirePkg, "Reader"))).Block(body...)
}

// parseField writes the cases of a field, none where it is not read.
func (e *emitter) parseField(f *protogen.Field) []jen.Code {
	o := member(f)
	switch {
	case e.views.encoded[f.Desc.FullName()]:
		return []jen.Code{e.fieldCase(f, wireType(f), e.parseEncoded(f)...)}
	case !e.views.isRead(f) && o != nil && e.oneofRead(o):
		// The field is not read, but it clears the other members of its oneof.
		return []jen.Code{e.fieldCase(f, wireType(f), setWhich(f), jen.Id("r").Dot("Skip").Call())}
	case !e.views.isRead(f):
		return nil
	case f.Desc.IsMap():
		return []jen.Code{e.fieldCase(f, wireType(f), e.parseMap(f)...)}
	case f.Message != nil:
		return []jen.Code{e.fieldCase(f, wireType(f), e.parseMessage(f)...)}
	case f.Desc.IsList():
		return e.parseScalars(f)
	}
	body := []jen.Code{jen.Id("m").Dot(f.GoName).Op("=").Add(e.readScalar(f))}
	if o != nil {
		body = append([]jen.Code{setWhich(f)}, body...)
	} else if e.flagged(f) {
		body = append(body, jen.Id("m").Dot(flag(f)).Op("=").True())
	}
	return []jen.Code{e.fieldCase(f, wireType(f), body...)}
}

// parseEncoded keeps the bytes of a message. It also decodes the message if other code
// reads it.
func (e *emitter) parseEncoded(f *protogen.Field) []jen.Code {
	var out []jen.Code
	here := func() *jen.Statement { return jen.Id("m").Dot(bytesOf(f)) }
	if o := member(f); o != nil {
		other := jen.Id("m").Dot(which(o)).Op("!=").Lit(int(f.Desc.Number()))
		out = append(out, jen.If(other).Block(here().Op("=").Nil()))
		if !e.views.isRead(f) {
			out = append(out, setWhich(f))
		}
	}
	out = append(out, here().Op("=").Add(e.qual(wirePkg, "Encoded")).Call(jen.Id("r"), here(), e.none(f.Message)))
	if e.views.isRead(f) {
		return append(out, e.parseMessage(f)...)
	}
	return append(out, jen.Id("r").Dot("Skip").Call())
}

// setWhich notes that a member of a oneof is set.
func setWhich(f *protogen.Field) jen.Code {
	return jen.Id("m").Dot(which(f.Oneof)).Op("=").Lit(int(f.Desc.Number()))
}

// fieldCase is the case of a field with a wire type.
func (e *emitter) fieldCase(f *protogen.Field, typ string, body ...jen.Code) jen.Code {
	about := jen.Comment("// " + string(f.Desc.Name()))
	return jen.Case(e.tag(int(f.Desc.Number()), typ)).Block(append([]jen.Code{about}, body...)...)
}

func (e *emitter) tag(number int, typ string) *jen.Statement {
	return jen.Lit(number).Op("<<").Lit(3).Op("|").Add(e.qual(wirePkg, typ))
}

// fill reads the message, of which x is the address, that the reader is at.
func (e *emitter) fill(m *protogen.Message, x jen.Code) jen.Code {
	r := jen.Id("r")
	switch name := native(m); {
	case name != "":
		return e.qual(wirePkg, name).Call(r, x)
	case e.viewed(m):
		return jen.Add(x).Dot("parse").Call(r)
	}
	return e.qual(wirePkg, "Unmarshal").Call(r, x)
}

// parseMessage reads one message, or one element of a repeated message.
func (e *emitter) parseMessage(f *protogen.Field) []jen.Code {
	here := func() *jen.Statement { return jen.Id("m").Dot(f.GoName) }
	if f.Desc.IsList() {
		return []jen.Code{
			jen.Id("x").Op(":=").Add(e.qual(wirePkg, e.listOf(f))).Call(jen.Op("&").Add(here()), jen.Id("r")),
			e.fill(f.Message, jen.Id("x")),
		}
	}
	var out []jen.Code
	empty := e.viewType(f.Message).Values()
	if e.pointed(f) {
		empty = jen.Nil()
	}
	if o := member(f); o != nil {
		other := jen.Id("m").Dot(which(o)).Op("!=").Lit(int(f.Desc.Number()))
		reset := jen.If(jen.Id("m").Dot(which(o)).Op("!=").Lit(0)).Block(here().Op("=").Add(empty))
		out = append(out, jen.If(other).Block(reset, setWhich(f)))
	} else if e.flagged(f) {
		out = append(out, jen.Id("m").Dot(flag(f)).Op("=").True())
	}
	x := here()
	switch {
	case e.pointed(f) && e.viewed(f.Message):
		out = append(out, jen.If(here().Op("==").Nil()).Block(here().Op("=").New(e.viewType(f.Message))))
	case !e.viewed(f.Message):
		x = jen.Op("&").Add(x)
	}
	return append(out, e.fill(f.Message, x))
}

// listOf is the function of package wire that adds an element to a list: its room is
// used again unless hooks may be given a part of it.
func (e *emitter) listOf(f *protogen.Field) string {
	if e.given(f.Message, nil) {
		return "Element"
	}
	return "Scratch"
}

// given reports whether a message that is held by value contains a value that hooks get by
// address.
func (e *emitter) given(m *protogen.Message, seen []*protogen.Message) bool {
	if native(m) != "" {
		return true
	}
	return !slices.Contains(seen, m) && slices.ContainsFunc(m.Fields, func(f *protogen.Field) bool {
		return e.views.isRead(f) && f.Message != nil && single(f) && !e.pointed(f) && e.given(f.Message, append(seen, m))
	})
}

// parseMap reads one entry of a map.
func (e *emitter) parseMap(f *protogen.Field) []jen.Code {
	key, value := f.Message.Fields[0], f.Message.Fields[1]
	part := func(f *protogen.Field, name string) (decl, read jen.Code) {
		decl, read = jen.Var().Id(name).Add(e.mapPart(f)), jen.Id(name).Op("=").Add(e.fieldRead(f))
		switch m := f.Message; {
		case m == nil:
		case native(m) == "" && !e.viewed(m):
			decl, read = jen.Id(name).Op(":=").New(e.viewType(m)), e.fill(m, jen.Op("&").Id(name))
		default:
			decl, read = jen.Id(name).Op(":=").New(e.viewType(m)), e.fill(m, jen.Id(name))
		}
		return decl, read
	}
	keyDecl, keyRead := part(key, "key")
	valueDecl, valueRead := part(value, "x")
	return []jen.Code{
		keyDecl,
		valueDecl,
		jen.Id("entry").Op(":=").Id("r").Dot("Inside").Call(),
		jen.For(jen.Id("r").Dot("Next").Call()).Block(jen.Switch(jen.Id("r").Dot("Tag").Call()).Block(
			e.fieldCase(key, wireType(key), keyRead),
			e.fieldCase(value, wireType(value), valueRead),
			jen.Default().Block(jen.Id("r").Dot("Skip").Call()),
		)),
		jen.Id("r").Dot("Leave").Call(jen.Id("entry")),
		jen.Id("m").Dot(f.GoName).Op("=").Add(e.qual(wirePkg, "Entry")).Call(jen.Id("m").Dot(f.GoName), jen.Id("key"), jen.Id("x"), jen.Id("r")),
	}
}

// fieldRead reads a scalar of an entry of a map.
func (e *emitter) fieldRead(f *protogen.Field) jen.Code {
	if f.Message != nil {
		return jen.Null()
	}
	return e.readScalar(f)
}

// parseScalars reads an element of a repeated scalar, or many that are packed.
func (e *emitter) parseScalars(f *protogen.Field) []jen.Code {
	list := func() *jen.Statement { return jen.Id("m").Dot(f.GoName) }
	if wireType(f) == "Len" {
		element := jen.Op("*").Add(e.qual(wirePkg, "Element")).Call(jen.Op("&").Add(list()), jen.Id("r"))
		return []jen.Code{e.fieldCase(f, "Len", element.Op("=").Add(e.readScalar(f)))}
	}
	add := func() jen.Code {
		return list().Op("=").Add(e.qual(wirePkg, "Append")).Call(list(), e.readScalar(f), jen.Id("r"))
	}
	return []jen.Code{
		e.fieldCase(f, wireType(f), add()),
		e.fieldCase(f, "Len",
			jen.Id("packed").Op(":=").Id("r").Dot("Inside").Call(),
			jen.For(jen.Id("r").Dot("More").Call()).Block(add()),
			jen.Id("r").Dot("Leave").Call(jen.Id("packed")),
		),
	}
}

// readScalar reads a scalar.
func (e *emitter) readScalar(f *protogen.Field) *jen.Statement {
	if f.Enum != nil {
		return e.ident(f.Enum.GoIdent).Call(jen.Id("r").Dot("Int32").Call())
	}
	return jen.Id("r").Dot(readMethod(f)).Call()
}

// readMethod is the method of wire.Reader that reads a scalar.
func readMethod(f *protogen.Field) string {
	switch kind := f.Desc.Kind(); {
	case kind == protoreflect.StringKind && !enforcesUTF8(f):
		return "Text"
	case kind == protoreflect.BytesKind && !f.Desc.HasPresence() && !f.Desc.IsList():
		return "Blob"
	default:
		return upperFirst(kind.String())
	}
}

// enforcesUTF8 reports whether a string must be UTF-8.
func enforcesUTF8(f *protogen.Field) bool {
	d, ok := f.Desc.(interface{ EnforceUTF8() bool })
	return !ok || d.EnforceUTF8()
}

func upperFirst(s string) string { return string(s[0]-'a'+'A') + s[1:] }

// wireType is the wire type of a value, as package wire calls it.
func wireType(f *protogen.Field) string {
	switch f.Desc.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return "Len"
	case protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind, protoreflect.FloatKind:
		return "Fixed32"
	case protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind, protoreflect.DoubleKind:
		return "Fixed64"
	default:
		return "Varint"
	}
}
