package emit

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// parse writes the method that fills the view of a message.
func (e *emitter) parse(m *protogen.Message) jen.Code {
	cases := slice.FlatMap(m.Fields, e.parseField)
	receiver, whole, fields := "m", "", e.Src("r.Skip()")
	hooked := e.pkg.Uses.Has(m.Desc, model.Whole)
	if hooked {
		whole = "\nwire.Whole(r, &m.message)"
	}
	if len(cases) > 0 {
		fields = e.switchTag(cases...)
	} else if !hooked {
		receiver = ""
	}
	return e.Src("func ($ $) parse(r *wire.Reader) {\nouter := r.Enter()$\nfor r.Next() {\n$\n}\nr.Leave(outer)\n}",
		receiver, e.view(m), e.Src(whole), fields)
}

// switchTag reads one of the fields that have cases, and skips others.
func (e *emitter) switchTag(cases ...jen.Code) *jen.Statement {
	return e.Src("switch r.Tag() {\n$\ndefault:\nr.Skip()\n}", cases)
}

// parseField writes the cases of a field, none where it is not read.
func (e *emitter) parseField(f *protogen.Field) []jen.Code {
	o := member(f)
	one := func(body ...jen.Code) []jen.Code { return []jen.Code{e.fieldCase(f, wireType(f), body...)} }
	switch {
	case e.pkg.Uses.Has(f.Desc, model.Encoded):
		return one(e.parseEncoded(f)...)
	case !e.isRead(f) && o != nil && e.oneofRead(o):
		// The field is not read, but it clears the other members of its oneof.
		return one(e.setWhich(f), e.Src("r.Skip()"))
	case !e.isRead(f):
		return nil
	case f.Desc.IsMap():
		return one(e.parseMap(f))
	case f.Message != nil:
		return one(e.parseMessage(f)...)
	case f.Desc.IsList():
		return e.parseScalars(f)
	}
	read := e.Src("m.$ = $", f.GoName, e.readScalar(f))
	switch {
	case o != nil:
		return one(e.setWhich(f), read)
	case e.flagged(f):
		return one(read, e.Src("m.$ = true", flag(f)))
	}
	return one(read)
}

// parseEncoded keeps the bytes of a message. It also decodes the message if other code
// reads it.
func (e *emitter) parseEncoded(f *protogen.Field) []jen.Code {
	var out []jen.Code
	here := "m." + bytesOf(f)
	if o := member(f); o != nil {
		out = append(out, e.Src("if m.$ != $ {\n$ = nil\n}", which(o), int(f.Desc.Number()), here))
		if !e.isRead(f) {
			out = append(out, e.setWhich(f))
		}
	}
	out = append(out, e.Src("$ = wire.Encoded(r, $, $)", here, here, e.none(f.Message)))
	if e.isRead(f) {
		return append(out, e.parseMessage(f)...)
	}
	return append(out, e.Src("r.Skip()"))
}

// setWhich notes that a member of a oneof is set.
func (e *emitter) setWhich(f *protogen.Field) jen.Code {
	return e.Src("m.$ = $", which(f.Oneof), int(f.Desc.Number()))
}

// fieldCase is the case of a field with a wire type.
func (e *emitter) fieldCase(f *protogen.Field, typ string, body ...jen.Code) jen.Code {
	return e.Src("case $<<3|wire."+typ+":\n// $\n$", int(f.Desc.Number()), string(f.Desc.Name()), body)
}

// fill reads the message, of which x is the address, that the reader r is at.
func (e *emitter) fill(m *protogen.Message, r string, x any) jen.Code {
	switch {
	case model.Native(m) != "", e.viewed(m) && model.IsWrapper(m):
		return e.Src("wire."+string(m.Desc.Name())+"($, $)", r, x)
	case e.viewed(m):
		return e.Src("$.parse($)", x, r)
	}
	return e.Src("wire.Unmarshal($, $)", r, x)
}

// parseMessage reads one message, or one element of a repeated message.
func (e *emitter) parseMessage(f *protogen.Field) []jen.Code {
	here := "m." + f.GoName
	if f.Desc.IsList() {
		add := "Scratch"
		if e.given(f, nil) { // hooks may keep a part of an element, so its memory is not reused
			add = "Element"
		}
		return []jen.Code{e.Src("x := wire."+add+"[$](&$, r)\n$", e.madeOf(f), here, e.fill(f.Message, "r", "x"))}
	}
	var out []jen.Code
	if o := member(f); o != nil {
		empty := e.Src("$", "nil")
		if !e.pointed(f) {
			empty = e.Src("$ {}", e.viewType(f.Message))
		}
		out = append(out, e.Src("if m.$ != $ {\nif m.$ != 0 {\n$ = $\n}\n$\n}", which(o), int(f.Desc.Number()), which(o), here, empty, e.setWhich(f)))
	} else if e.flagged(f) {
		out = append(out, e.Src("m.$ = true", flag(f)))
	}
	x := here
	switch {
	case e.pointed(f) && e.viewed(f.Message):
		out = append(out, e.Src("if $ == nil {\n$ = new($)\n}", here, here, e.viewType(f.Message)))
	case !e.viewed(f.Message) || model.IsWrapper(f.Message):
		x = "&" + x
	}
	return append(out, e.fill(f.Message, "r", x))
}

// madeOf is the type of the value that the decoder makes of each element of a repeated field. An element costs at least the
// size of this type. If the decoder makes several values, the type is a struct of them. Values of different structs, cases or
// profiles add up, too, although a decoder may make only one of them. A value that is a part of the element or that a hook makes
// counts as the element.
func (e *emitter) madeOf(f *protogen.Field) jen.Code {
	var made []jen.Code
	for _, s := range e.pkg.All() {
		for _, d := range s.Fields {
			switch d.Value.(type) {
			case model.StructOf, model.Converted:
				for _, p := range d.Paths {
					if p.ForEach(f) {
						made = append(made, e.ValueType(d.Value))
					}
				}
			}
		}
	}
	switch {
	case f.Message != nil && (len(made) == 0 || !e.inPlace(f)): // a message that protobuf unmarshals has a cost of its own
		return e.element(f)
	case len(made) == 0:
		return e.ScalarType(f)
	case len(made) == 1:
		return made[0]
	}
	return jen.StructFunc(func(g *jen.Group) {
		for _, typ := range made {
			g.Id("_").Add(typ)
		}
	})
}

// given reports whether hooks get the address of the value of a field, or of a part of it that is held by value.
func (e *emitter) given(f *protogen.Field, seen []*protogen.Message) bool {
	m, uses := f.Message, e.pkg.Uses
	if model.Native(m) != "" {
		return uses.Has(f.Desc, model.Given) || uses.Has(m.Desc, model.Given)
	}
	return !slices.Contains(seen, m) && slices.ContainsFunc(m.Fields, func(f *protogen.Field) bool {
		return e.isRead(f) && f.Message != nil && single(f) && !e.pointed(f) && e.given(f, append(seen, m))
	})
}

// parseMap reads one entry of a map.
func (e *emitter) parseMap(f *protogen.Field) jen.Code {
	key, value := f.Message.Fields[0], f.Message.Fields[1]
	var decl, read jen.Code
	switch m := value.Message; {
	case m == nil:
		decl, read = e.Src("var x $", e.held(value)), e.Src("x = $", e.readScalar(value))
	case model.Native(m) == "" && !e.viewed(m):
		decl, read = e.Src("x := new($)", e.viewType(m)), e.fill(m, "r", "&x")
	default:
		decl, read = e.Src("x := new($)", e.viewType(m)), e.fill(m, "r", "x")
	}
	keyCase := e.fieldCase(key, wireType(key), e.Src("key = $", e.readScalar(key)))
	fields := e.switchTag(keyCase, e.fieldCase(value, wireType(value), read))
	return e.Src("var key $\n$\nentry := r.Inside()\nfor r.Next() {\n$\n}\nr.Leave(entry)\nm.$ = wire.Entry(m.$, key, x, r)",
		e.held(key), decl, fields, f.GoName, f.GoName)
}

// parseScalars reads an element of a repeated scalar, or many that are packed.
func (e *emitter) parseScalars(f *protogen.Field) []jen.Code {
	here, x := "m."+f.GoName, e.readScalar(f)
	if wireType(f) == "Len" {
		return []jen.Code{e.fieldCase(f, "Len", e.Src("*wire.Element[$](&$, r) = $", e.madeOf(f), here, x))}
	}
	add := e.Src("$ = wire.Append($, $, r)", here, here, x)
	return []jen.Code{
		e.fieldCase(f, wireType(f), add),
		e.fieldCase(f, "Len", e.Src("packed := r.Inside()\nfor r.More() {\n$\n}\nr.Leave(packed)", add)),
	}
}

// readScalar reads a scalar.
func (e *emitter) readScalar(f *protogen.Field) *jen.Statement {
	if f.Enum != nil {
		return e.Src("$(r.Int32())", e.ident(f.Enum.GoIdent))
	}
	kind := f.Desc.Kind()
	method := upperFirst(kind.String())
	utf8, known := f.Desc.(interface{ EnforceUTF8() bool })
	switch {
	case kind == protoreflect.StringKind && known && !utf8.EnforceUTF8():
		method = "Text"
	case kind == protoreflect.BytesKind && !f.Desc.HasPresence() && !f.Desc.IsList():
		method = "Blob"
	}
	return e.Src("r.$()", method)
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

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
