package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// field writes the code that fills one field of target from the message m.
func (f *fn) field(target *jen.Statement, d *model.Field) []jen.Code {
	if !d.When.Empty() {
		always := *d
		always.When = model.Cond{}
		return when(f.conds(jen.Id("m"), d.When), f.field(target, &always))
	}
	to := func() *jen.Statement { return jen.Add(target).Dot(d.GoName()) }
	if x, ok := f.expr(d); ok {
		return []jen.Code{to().Op("=").Add(x)}
	}
	if d.Ref != "" && !d.SelfName {
		return f.refField(target, d, to)
	}
	switch v := d.Value.(type) {
	case model.HookOf:
		return f.hookField(v.Hook, target, to)
	case model.OneofOf:
		return f.assign(d, jen.Id("m"), f.here(), to)
	}
	switch {
	case d.List:
		return f.listField(d, to)
	case d.IsMap():
		return f.mapField(d, to)
	}
	if d.Paths == nil {
		return f.assign(d, jen.Id("m"), f.here(), to)
	}
	return f.singleField(d, to)
}

// expr is the expression that makes the whole field, where there is one and no
// statement is needed beside it.
func (f *fn) expr(d *model.Field) (*jen.Statement, bool) {
	if d.Optional || d.SelfName || d.Ref != "" || len(d.Paths) > 1 || !d.When.Empty() {
		return nil, false
	}
	if len(d.Paths) == 0 {
		return f.exprHere(d)
	}
	p := d.Paths[0]
	x := f.get(jen.Id("m"), p)
	v, plain := d.Value.(model.Plain)
	switch {
	case p.ManyInside(), (d.List || d.IsMap()) && (!plain || !v.Class.Scalar() || v.Wrapper):
		return nil, false
	case plain && d.Default != nil && v.Wrapper:
		return f.convert("Or").Call(x, f.literal(*d.Default)), true
	case plain && d.Default != nil && v.Class.Scalar() && !p.Presence():
		return f.qual("cmp", "Or").Call(x, f.literal(*d.Default)), true
	case plain && (v.Class == model.JSON || v.Class == model.JSONList || d.Default != nil):
		return nil, false
	}
	switch v := d.Value.(type) {
	case model.StructOf:
		return nil, false
	case model.EnumOf:
		switch {
		case d.Default != nil && p.Presence():
			return nil, false
		case d.Default != nil:
			x = f.qual("cmp", "Or").Call(x, f.literal(*d.Default))
		}
	case model.Converted:
		if v.Conversion.Func == "" || len(v.Conversion.Parts) > 0 {
			return nil, false
		}
	case model.HookOf:
		return nil, false
	}
	if d.List || d.IsMap() {
		return x, true
	}
	_, out := f.value(d, x, f.here().below(p))
	return out, true
}

// exprHere is [fn.expr] for a field that is decoded from the current message.
func (f *fn) exprHere(d *model.Field) (*jen.Statement, bool) {
	switch d.Value.(type) {
	case model.StructOf, model.OneofOf:
		_, x := f.value(d, jen.Id("m"), f.here())
		return x, true
	}
	return nil, false
}

// value returns the Go value of x, which is at the place. pre declares the variables that
// it needs.
func (f *fn) value(d *model.Field, x jen.Code, at place) (pre []jen.Code, value *jen.Statement) {
	switch v := d.Value.(type) {
	case model.Plain:
		switch v.Class {
		case model.Duration:
			return nil, f.converted("Duration", x, at)
		case model.Timestamp:
			return nil, f.converted("Timestamp", x, at)
		case model.JSON:
			return nil, jen.Add(x).Dot("AsMap").Call()
		case model.JSONValue:
			return nil, jen.Add(x).Dot("AsInterface").Call()
		case model.JSONList:
			return nil, jen.Add(x).Dot("AsSlice").Call()
		default:
			if v.Wrapper {
				return nil, jen.Add(x).Dot("GetValue").Call()
			}
		}
	case model.Converted:
		if v.Conversion.Func == "" {
			return nil, jen.Add(f.dc()).Dot("Server")
		}
		return nil, f.conversion(v.Conversion, x, at, d)
	case model.EnumOf:
		if v.Enum.Otherwise != nil {
			return nil, jen.Id("decode" + v.Enum.Name).Call(x)
		}
		return nil, jen.Id("decode"+v.Enum.Name).Call(f.path(at), x, f.v())
	case model.StructOf:
		return f.call("decode"+v.Struct.Name, at, x)
	case model.OneofOf:
		return f.call("decode"+v.Oneof.Name, at, x)
	case model.InlineOf:
		if p := d.Paths[0]; f.views != nil && len(d.Paths) == 1 && !p.Many() && !d.IsMap() {
			message := jen.Lit(string(v.Message.Desc.FullName()))
			return nil, f.convert("InlineEncoded").Call(f.dc(), f.meta(), f.path(at), message, f.encoded(jen.Id("m"), p), f.v())
		}
		return nil, f.convert("Inline").Call(f.dc(), f.meta(), f.path(at), f.askedMessage(x, v.Message), f.v())
	}
	return nil, jen.Add(x)
}

// converted calls a function of package convert.
func (f *fn) converted(name string, x jen.Code, at place) *jen.Statement {
	return f.convert(name).Call(f.path(at), x, f.v())
}

// assign stores the value that x becomes.
func (f *fn) assign(d *model.Field, x jen.Code, at place, to func() *jen.Statement) []jen.Code {
	return f.store(d, x, at, func(value *jen.Statement) []jen.Code {
		if d.Optional {
			value = jen.New(value)
		}
		return []jen.Code{to().Op("=").Add(value)}
	})
}

// store passes on the value of x. It opens an Any and drops elements that are not kept.
func (f *fn) store(d *model.Field, x jen.Code, at place, pass func(*jen.Statement) []jen.Code) []jen.Code {
	s, ok := d.Value.(model.StructOf)
	if ok && s.Any != nil {
		return f.nested(func(l locals) []jen.Code {
			body := f.store(d.WithoutAny(), jen.Id(l.element), at, pass)
			opened := f.open(s.Any, s.Typed, at, x, l.element, body)
			if s.Other == "" {
				return opened
			}
			strict := map[string]string{"grpc": "envoy", "envoy": "grpc"}[s.Other]
			holds := f.anyName(x, s.Typed).Op("==").Lit(string(s.Any.Desc.FullName()))
			return []jen.Code{jen.If(f.profile(strict).Op("||").Add(holds)).Block(opened...)}
		})
	}
	pre, value := f.value(d, x, at)
	if ok && s.Struct.Keep != nil {
		return append(pre, f.nested(func(l locals) []jen.Code {
			kept := jen.Id(l.element)
			return []jen.Code{jen.If(jen.List(kept, jen.Id("ok")).Op(":=").Add(value), jen.Id("ok")).Block(pass(kept)...)}
		})...)
	}
	return append(pre, pass(value)...)
}

// refField fills a field that names other resources, and notes the names.
func (f *fn) refField(target *jen.Statement, d *model.Field, to func() *jen.Statement) []jen.Code {
	plain := *d
	plain.Ref = ""
	if !d.List {
		at := f.here().below(d.Paths[0])
		return append(f.field(target, &plain), f.ref(d, at, jen.Op("&").Add(to())))
	}
	if x, ok := f.expr(&plain); ok {
		return []jen.Code{to().Op("=").Add(x), f.listRefs(d, to)}
	}
	return f.listField(d, to)
}

// ref notes that the value, of which ptr is the address, names another resource.
func (f *fn) ref(d *model.Field, at place, ptr jen.Code) jen.Code {
	return jen.Add(f.dc()).Dot("Ref").Call(f.meta(), f.v(), f.path(at), jen.Lit(d.Ref), ptr)
}

// listRefs notes the names in a list that is taken from the message as it is.
func (f *fn) listRefs(d *model.Field, to func() *jen.Statement) jen.Code {
	p := f.here()
	p.v.used = true
	at := jen.Id(p.v.name).Dot("Item").Call(jen.Lit(d.Paths[0].String()), jen.Id("i"))
	call := jen.Add(f.dc()).Dot("Ref").Call(f.meta(), f.v(), at, jen.Lit(d.Ref), jen.Op("&").Add(to()).Index(jen.Id("i")))
	return jen.For(jen.Id("i").Op(":=").Range().Add(to())).Block(call)
}
