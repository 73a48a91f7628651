package emit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Views are the structs that a decoder of the kind `wire` reads instead of messages. There
// is one for each message from which a field is read. It has the getters of that message
// and a method that fills it from bytes. The model knows the fields that are read.
type views struct {
	messages []*protogen.Message // in the order of their full names
	names    map[protoreflect.FullName]string
}

// findViews finds the messages that the decoder reads, from the resource's message and from
// those of structs, which can be in an Any.
func (e *emitter) findViews() *views {
	v := &views{names: make(map[protoreflect.FullName]string)}
	var add func(m *protogen.Message)
	add = func(m *protogen.Message) {
		if slices.Contains(v.messages, m) || model.Native(m) != "" || model.IsWrapper(m) || e.whole(m) {
			return
		}
		v.messages = append(v.messages, m)
		for _, f := range m.Fields {
			of := f.Message
			if of != nil && f.Desc.IsMap() {
				of = of.Fields[1].Message
			}
			if of != nil && e.isRead(f) {
				add(of)
			}
		}
	}
	for _, s := range e.pkg.All() {
		add(s.Message)
	}
	slices.SortFunc(v.messages, func(a, b *protogen.Message) int { return cmp.Compare(a.Desc.FullName(), b.Desc.FullName()) })
	taken := make(model.Names)
	for _, m := range v.messages {
		v.names[m.Desc.FullName()] = taken.Take("wire" + strings.ReplaceAll(m.GoIdent.GoName, "_", ""))
	}
	return v
}

// isRead reports whether the decoder reads a field.
func (e *emitter) isRead(f *protogen.Field) bool { return e.pkg.Uses.Has(f.Desc, model.Read) }

// whole reports whether protobuf unmarshals a message: if only hooks get it, or JSON is made
// of it.
func (e *emitter) whole(m *protogen.Message) bool {
	switch m.Desc.FullName() {
	case "google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue":
		return true
	}
	return e.pkg.Uses.Has(m.Desc, model.Whole) && !e.pkg.Uses.Has(m.Desc, model.Read)
}

// viewed reports whether a message is read through a view.
func (e *emitter) viewed(m *protogen.Message) bool {
	return e.views != nil && model.Native(m) == "" && !e.whole(m)
}

// view returns the Go pointer type for the fields of a message that the decoder reads.
func (e *emitter) view(m *protogen.Message) *jen.Statement { return e.Src("*$", e.viewType(m)) }

// viewType is [emitter.view] without the pointer.
func (e *emitter) viewType(m *protogen.Message) *jen.Statement {
	switch {
	case !e.viewed(m):
		return e.ident(m.GoIdent)
	case model.IsWrapper(m):
		return e.Src("wire.Wrapper[$]", e.held(m.Fields[0]))
	}
	return jen.Id(e.views.names[m.Desc.FullName()])
}

// element is the Go type of a message in a field of a view, or of an element of a repeated one.
func (e *emitter) element(f *protogen.Field) *jen.Statement {
	if e.inPlace(f) && !e.pointed(f) && !f.Parent.Desc.IsMapEntry() {
		return e.viewType(f.Message)
	}
	return e.view(f.Message)
}

// inPlace reports whether the messages of a field are held by value.
func (e *emitter) inPlace(f *protogen.Field) bool {
	return e.views != nil && f.Message != nil && !e.whole(f.Message)
}

// asked returns the value at a path in the form that hooks get. Messages are whole.
func (f *Func) asked(m jen.Code, p model.Path) jen.Code {
	if o := p.Oneof(); o != nil {
		parent := f.Get(m, p.Parent())
		if !f.viewed(o.Parent) {
			return f.Src("convert.Member($, $)", parent, jen.Lit(string(o.Desc.Name())))
		}
		return f.Src("$.$()", parent, "member"+o.GoName)
	}
	x := f.Get(m, p)
	leaf := p.Leaf()
	switch {
	case f.views == nil || leaf == nil || leaf.Message == nil:
		return x
	case leaf.Desc.IsMap():
		if value := leaf.Message.Fields[1].Message; value != nil && f.viewed(value) {
			return f.Src("wire.MessageMap($, $)", x, f.proto(value))
		}
	case !p.ToList():
		return f.askedMessage(x, leaf.Message)
	case model.Native(leaf.Message) != "":
		return f.Src("wire.Pointers($)", x)
	case f.viewed(leaf.Message):
		return f.Src("wire.Messages($, $)", x, f.proto(leaf.Message))
	}
	return x
}

// encoded is the message at a path as bytes.
func (f *Func) encoded(m any, p model.Path) jen.Code {
	if !f.viewed(p.Leaf().Parent) {
		return f.Src("convert.Encoded($)", f.Get(m, p))
	}
	return f.Src("$.$()", f.Get(m, p.Parent()), "encoded"+p.Leaf().GoName)
}

// askedMessage is the message x, of type m, as a hook is given it.
func (f *Func) askedMessage(x jen.Code, m *protogen.Message) jen.Code {
	switch {
	case !f.viewed(m):
		return x
	case model.IsWrapper(m):
		return f.Src("$($)", f.proto(m), x)
	}
	return f.Src("$.proto()", x)
}

// proto is the function from the view of a message to the message.
func (e *emitter) proto(m *protogen.Message) jen.Code {
	if !model.IsWrapper(m) {
		return e.Src("($).proto", e.view(m))
	}
	create := strings.TrimSuffix(m.GoIdent.GoName, "Value")
	return e.Src("wire.Wrapped($)", e.qual(string(m.GoIdent.GoImportPath), create))
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
