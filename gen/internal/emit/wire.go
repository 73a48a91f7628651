package emit

import (
	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// wire writes the views.
func (e *emitter) wire() []jen.Code {
	if e.views == nil {
		return nil
	}
	return slice.FlatMap(e.views.messages, e.viewOf)
}

// readMessage writes the code that fills m from the encoded message.
func (e *emitter) readMessage() []jen.Code {
	m := e.pkg.Message
	if !e.viewed(m) {
		return []jen.Code{e.Src("m := new($)\n$", e.ident(m.GoIdent), e.unmarshal("m"))}
	}
	none, parse := e.none(m), e.Src("m.parse(&r)")
	if e.pkg.Strict {
		parse = e.Src("if r.Check($) {\nm.parse(&r)\n}", none)
	}
	out := []jen.Code{e.Src(`r := dc.Read(messageName, body)
		defer dc.Done(messageName)
		m := new($)
		$
		if !r.OK() {
			return nil, dc.Unreadable(messageName, body, $)
		}`, e.viewType(m), parse, none)}
	for _, name := range e.pkg.Late {
		out = append(out, e.Src("if $ {\nm.message = new($)\n$\n}", e.profile(name), e.ident(m.GoIdent), e.unmarshal("m.message")))
	}
	return out
}

// unmarshal reads the encoded resource into a message.
func (e *emitter) unmarshal(m string) jen.Code {
	return e.Src("if err := dc.Unmarshal(body, $); err != nil {\nreturn nil, err\n}", m)
}

// none is a nil message, of which only the type matters.
func (e *emitter) none(m *protogen.Message) *jen.Statement { return e.Src("($)(nil)", e.message(m)) }

// open opens the Any x, which must hold a message m, and runs body with it under a
// name.
func (f *Func) open(m *protogen.Message, typed bool, at Place, x, name jen.Code, body []jen.Code) []jen.Code {
	kind := "Any"
	if typed {
		kind = "Typed"
	}
	if !f.viewed(m) {
		return []jen.Code{f.Src("$ := new($)\nif convert.Open"+kind+"(dc, $, $, $, v) {\n$\n}", name, f.viewType(m), f.path(at), x, name, body)}
	}
	parse := f.fill(m, "&in", name)
	if f.pkg.Strict {
		parse = f.Src("if in.Check($) {\n$\n}", f.none(m), parse)
	}
	return []jen.Code{f.Src(`if in, ok := convert.Read`+kind+`(dc, $, $, $, v); ok {
		$ := new($)
		$
		if convert.Parsed(dc, in.OK(), $, $, $, v) {
			$
		}
	}`, f.path(at), x, f.none(m), name, f.viewType(m), parse, f.path(at), x, f.none(m), body)}
}

// zeroOf is the zero value of a scalar.
func zeroOf(f *protogen.Field) string {
	switch f.Desc.Kind() {
	case protoreflect.StringKind:
		return `""`
	case protoreflect.BoolKind:
		return "false"
	case protoreflect.BytesKind:
		return "nil"
	default:
		return "0"
	}
}
