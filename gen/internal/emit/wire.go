package emit

import (
	"maps"
	"slices"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// wire writes the views.
func (e *emitter) wire() []jen.Code {
	if e.views == nil {
		return nil
	}
	e.viewType(e.pkg.Message)
	var out []jen.Code
	done := make(map[string]bool)
	for len(done) < len(e.views.types) { // writing a view finds those of its fields
		for _, full := range slices.Sorted(maps.Keys(e.views.types)) {
			m := e.views.types[full]
			if done[string(full)] {
				continue
			}
			done[string(full)] = true
			if e.viewed(m) {
				out = append(out, e.viewOf(m)...)
			}
		}
	}
	return out
}

// readMessage writes the code that fills m from the encoded message.
func (e *emitter) readMessage() []jen.Code {
	m := e.pkg.Message
	if !e.viewed(m) {
		return []jen.Code{
			jen.Id("m").Op(":=").New(e.ident(m.GoIdent)),
			e.unmarshal(jen.Id("m")),
		}
	}
	failed := jen.Op("!").Id("r").Dot("OK").Call()
	if e.pkg.Strict {
		failed = jen.Op("!").Add(e.qual(wirePkg, "Check")).Call(jen.Id("body"), e.none(m)).Op("||").Add(failed)
	}
	fail := jen.Return(jen.Nil(), jen.Id("dc").Dot("Unreadable").Call(jen.Id("messageName"), jen.Id("body"), e.none(m)))
	out := []jen.Code{
		jen.Id("r").Op(":=").Id("dc").Dot("Read").Call(jen.Id("messageName"), jen.Id("body")),
		jen.Defer().Id("dc").Dot("Done").Call(jen.Id("messageName")),
		jen.Id("m").Op(":=").New(e.viewType(m)),
		jen.Id("m").Dot("parse").Call(jen.Op("&").Id("r")),
		jen.If(failed).Block(fail),
	}
	if e.views.hooked[m.Desc.FullName()] {
		return out
	}
	for _, name := range slices.Sorted(maps.Keys(e.views.late)) {
		message := jen.Id("m").Dot("message")
		out = append(out, jen.If(e.inProfile(name)).Block(
			jen.Add(message).Op("=").New(e.ident(m.GoIdent)),
			e.unmarshal(message),
		))
	}
	return out
}

// unmarshal reads the encoded resource into a message.
func (e *emitter) unmarshal(m jen.Code) jen.Code {
	return jen.If(jen.Id("err").Op(":=").Id("dc").Dot("Unmarshal").Call(jen.Id("body"), m), jen.Id("err").Op("!=").Nil()).Block(
		jen.Return(jen.Nil(), jen.Id("err")),
	)
}

// none is a nil message, of which only the type counts.
func (e *emitter) none(m *protogen.Message) *jen.Statement {
	return jen.Parens(e.message(m)).Parens(jen.Nil())
}

// open opens the Any x, which must hold a message m, and runs body with it under a
// name.
func (f *fn) open(m *protogen.Message, typed bool, at place, x jen.Code, name string, body []jen.Code) []jen.Code {
	kind := "Any"
	if typed {
		kind = "Typed"
	}
	made := jen.Id(name).Op(":=").New(f.viewType(m))
	if !f.viewed(m) {
		return []jen.Code{made, jen.If(f.convert("Open"+kind).Call(f.dc(), f.path(at), x, jen.Id(name), f.v())).Block(body...)}
	}
	r := func() *jen.Statement { return jen.Id("in") }
	parse := jen.Id(name).Dot("parse").Call(jen.Op("&").Add(r()))
	if f.pkg.Strict {
		parse = jen.If(r().Dot("Check").Call(f.none(m))).Block(parse)
	}
	return []jen.Code{
		jen.If(jen.List(r(), jen.Id("ok")).Op(":=").Add(f.convert("Read"+kind)).Call(f.dc(), f.path(at), x, f.none(m), f.v()), jen.Id("ok")).Block(
			made,
			parse,
			jen.If(f.convert("Parsed").Call(f.dc(), r().Dot("OK").Call(), f.path(at), x, f.none(m), f.v())).Block(body...),
		),
	}
}

// conversion returns the conversion of x.
func (f *fn) conversion(c descriptor.Conversion, x jen.Code, at place, d *model.Field) *jen.Statement {
	p := d.Paths[0]
	m := p.Message()
	if d.IsMap() {
		m = p.Leaf().Message.Fields[1].Message
	}
	switch {
	case f.views == nil && c.Context:
		return f.convert(c.Func).Call(f.dc(), f.path(at), x, f.v())
	case f.views == nil:
		return f.converted(c.Func, x, at)
	case len(c.Parts) > 0:
		return f.convert("View"+c.Func).Call(f.dc(), f.path(at), f.parts(c, x, m), f.v())
	}
	switch c.Func {
	case "HostPort", "AddrPort":
		f.views.sockets[m.Desc.FullName()] = true
		inner := fieldNamed(m, "socket_address")
		f.views.read(inner)
		for _, name := range []string{"address", "port_value", "named_port"} {
			f.views.read(fieldNamed(inner.Message, name))
		}
		f.hasField(fieldNamed(inner.Message, "named_port"))
		args := []jen.Code{f.path(at), jen.Add(x).Dot("socket").Call(), f.v()}
		if c.Func == "HostPort" {
			args = append([]jen.Code{f.dc()}, args...)
		}
		return f.convert("View" + c.Func).Call(args...)
	default: // it takes a view as well
		for _, field := range m.Fields {
			f.views.read(field)
		}
		return f.converted(c.Func, x, at)
	}
}

func fieldNamed(m *protogen.Message, name string) *protogen.Field {
	return m.Fields[slices.IndexFunc(m.Fields, func(f *protogen.Field) bool { return string(f.Desc.Name()) == name })]
}

// slice is an empty slice for the values of a list field, with room for n.
func (f *fn) slice(d *model.Field, n jen.Code) *jen.Statement {
	if f.views != nil && f.of != nil {
		arena := func() jen.Code { return jen.Add(f.dc()).Dot("Arena").Call() }
		switch v := d.Value.(type) {
		case model.StructOf:
			if leaf := d.Paths[0].Leaf(); v.Any == nil && leaf != nil && f.inPlace(leaf) {
				return f.qual(wirePkg, "List").Types(f.valueType(v), f.viewType(leaf.Message)).Call(arena(), n)
			}
		case model.Converted:
			if leaf := d.Paths[0].Leaf(); len(v.Conversion.Parts) > 0 && f.inPlace(leaf) {
				return f.qual(wirePkg, "List").Types(f.valueType(v), f.viewType(leaf.Message)).Call(arena(), n)
			}
			if v.Conversion.Func == "HostPort" && f.viewed(f.of) {
				return f.qual(wirePkg, "Strings").Types(f.viewType(f.of)).Call(arena(), n)
			}
		}
	}
	return f.convert("Slice").Types(f.valueType(d.Value)).Call(n)
}
