package emit

import (
	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// field writes the code that fills one field of target, a variable, from the message m.
func (f *Func) field(target string, d *model.Field) []jen.Code {
	if !d.When.Empty() {
		always := *d
		always.When = model.Cond{}
		return f.When(f.conds("m", d.When), f.field(target, &always))
	}
	to := target + "." + d.GoName()
	if x := f.expr(d); x != nil {
		return []jen.Code{f.Src("$ = $", to, x)}
	}
	if d.Ref != "" && !d.SelfName {
		return f.refField(target, d, to)
	}
	if v, ok := d.Value.(model.HookOf); ok {
		return f.hookField(v.Hook, target, to)
	}
	switch {
	case d.List:
		return f.listField(d, to)
	case d.IsMap():
		return f.mapField(d, to)
	case len(d.Paths) == 0: // others are expressions
		return f.groupedField(d, to)
	}
	return f.singleField(d, to)
}

// expr is the expression that decodes the whole field. It is nil if a statement is needed.
func (f *Func) expr(d *model.Field) *jen.Statement {
	if d.Optional || d.SelfName || d.Ref != "" || len(d.Paths) > 1 || !d.When.Empty() {
		return nil
	}
	v, plain := d.Value.(model.Plain)
	c, converted := d.Value.(model.Converted)
	_, hook := d.Value.(model.HookOf)
	_, structOf := d.Value.(model.StructOf)
	switch {
	case hook, len(d.Paths) > 0 && structOf, converted && (c.Conversion.Func == "" || len(c.Conversion.Inputs) > 0):
		return nil
	case len(d.Paths) == 0:
		_, x := f.value(d, jen.Id("m"), f.Here())
		return x
	}
	p, x := d.Paths[0], f.Get("m", d.Paths[0])
	switch {
	case d.List || d.IsMap():
		if plain && v.Class.Scalar() && !v.Wrapper && !p.ManyInside() {
			return x
		}
		return nil
	case d.Default == nil:
		if v.Class == model.JSON || v.Class == model.JSONList {
			return nil
		}
	case v.Wrapper && f.views != nil:
		return f.Src("$.Or($)", x, f.Literal(*d.Default))
	case v.Wrapper:
		return f.Src("convert.Or($, $)", x, f.Literal(*d.Default))
	case p.Presence() || plain && !v.Class.Scalar():
		return nil
	default:
		x = f.Src("cmp.Or($, $)", x, f.Literal(*d.Default))
	}
	_, x = f.value(d, x, f.Here().Below(p))
	return x
}

// value returns the Go value of x, which is at the place. pre declares the variables that
// it needs.
func (f *Func) value(d *model.Field, x jen.Code, at Place) (pre []jen.Code, value *jen.Statement) {
	switch v := d.Value.(type) {
	case model.Plain:
		method := map[model.Class]string{model.JSON: "AsMap", model.JSONValue: "AsInterface", model.JSONList: "AsSlice"}[v.Class]
		switch {
		case v.Class == model.Duration:
			return nil, f.Src("convert.Duration($, $, v)", f.path(at), x)
		case v.Class == model.Timestamp:
			return nil, f.Src("convert.Timestamp($, $, v)", f.path(at), x)
		case v.Wrapper:
			return nil, f.Src("$.GetValue()", x)
		case method != "":
			return nil, f.Src("$.$()", x, method)
		}
	case model.Converted:
		return f.conversion(v.Conversion, x, at, d)
	case model.EnumOf:
		if v.Enum.Otherwise != nil {
			return nil, f.Src("$($)", f.named("decode"+v.Enum.Name), x)
		}
		return nil, f.Src("$($, $, v)", f.named("decode"+v.Enum.Name), f.path(at), x)
	case model.StructOf:
		return f.decoded(v.Struct.Name, v.Struct.Side, x, at)
	case model.OneofOf:
		return f.decoded(v.Oneof.Name, "", x, at)
	case model.InlineOf:
		if f.views != nil {
			message := jen.Lit(string(v.Message.Desc.FullName()))
			return nil, f.Src("convert.InlineEncoded(dc, $, $, $, $, v)", "meta", f.path(at), message, f.encoded("m", d.Paths[0]))
		}
		return nil, f.Src("convert.Inline(dc, $, $, $, v)", "meta", f.path(at), f.Get("m", d.Paths[0]))
	}
	return nil, f.Src("$", x)
}

// assign stores the value that x becomes.
func (f *Func) assign(d *model.Field, x jen.Code, at Place, to string) []jen.Code {
	return f.store(d, x, at, func(value *jen.Statement) []jen.Code {
		if d.Optional {
			value = f.Src("new($)", value)
		}
		return []jen.Code{f.Src("$ = $", to, value)}
	})
}

// store passes on the value of x. It opens an Any and drops elements that are not kept.
func (f *Func) store(d *model.Field, x jen.Code, at Place, pass func(*jen.Statement) []jen.Code) []jen.Code {
	s, ok := d.Value.(model.StructOf)
	if ok && s.Any != nil {
		return f.nested(func(y *jen.Statement) []jen.Code {
			opened := f.open(s.Any, s.Typed, at, x, y, f.store(d.WithoutAny(), y, at, pass))
			if s.Other == "" {
				return opened
			}
			holds := f.Src("$ || $ == $", f.otherProfile(s.Other), f.anyName(x, s.Typed), jen.Lit(string(s.Any.Desc.FullName())))
			return []jen.Code{f.If(nil, holds, opened...)}
		})
	}
	pre, value := f.value(d, x, at)
	if ok && s.Struct.Keep != nil {
		return append(pre, f.with("$, ok := $", value, "ok", pass)...)
	}
	return append(pre, pass(value)...)
}

// refField fills a field that names other resources, and notes the names.
func (f *Func) refField(target string, d *model.Field, to string) []jen.Code {
	plain := *d
	plain.Ref = ""
	if v, ok := d.Value.(model.HookOf); ok {
		return append(f.field(target, &plain), f.ref(d, f.path(f.hookPlace(v.Hook)), f.Src("&$", to)))
	}
	x := f.expr(&plain)
	switch {
	case !d.List:
		return append(f.field(target, &plain), f.ref(d, f.path(f.Here().Below(d.Paths[0])), f.Src("&$", to)))
	case x != nil:
		at := f.Src("p.Item($, i)", jen.Lit(d.Paths[0].String()))
		return []jen.Code{f.Src("$ = $\nfor i := range $ {\n$\n}", to, x, to, f.ref(d, at, f.Src("&$[i]", to)))}
	}
	return f.listField(d, to)
}

// ref notes that the value, of which ptr is the address, names another resource.
func (f *Func) ref(d *model.Field, at, ptr jen.Code) jen.Code {
	return f.Src("dc.Ref($, v, $, $, $)", "meta", at, jen.Lit(d.Ref), ptr)
}

// singleField fills a field from one value that may be absent.
func (f *Func) singleField(d *model.Field, to string) []jen.Code {
	p := d.Paths[0]
	at := f.Here().Below(p)
	if d.SelfName {
		return f.selfNamed(d, at, to)
	}
	if v, ok := d.Value.(model.Converted); ok && v.Conversion.Func == "" {
		return []jen.Code{f.If(nil, f.Presence("m", p, true), f.Src("$ = dc.Server", to))}
	}
	var out []jen.Code
	if d.Default != nil {
		value := f.Literal(*d.Default)
		if v, ok := d.Value.(model.EnumOf); ok {
			value = jen.Id(v.Enum.Constant(*d.Default))
		}
		out = append(out, f.Src("$ = $", to, value))
	}
	if in := p.Parent(); p.Message() == nil && len(in.Steps) > 0 {
		if rest, _ := p.Behind(in); f.ReadsStruct(rest) {
			cond := f.And(f.Src("x != nil"), f.Presence("x", rest, true))
			return append(out, f.If(f.Src("x := $", f.Get("m", in)), cond, f.assign(d, f.Get("x", rest), at, to)...))
		}
	}
	if p.Message() == nil {
		return append(out, f.If(nil, f.Presence("m", p, true), f.assign(d, f.Get("m", p), at, to)...))
	}
	return append(out, f.Each(p, true, func(x *jen.Statement, at Place) []jen.Code { return f.assign(d, x, at, to) })...)
}

// groupedField fills a pointer to a struct of the message itself. It stays nil if no field of the
// struct is set.
func (f *Func) groupedField(d *model.Field, to string) []jen.Code {
	pre, value := f.value(d, jen.Id("m"), f.Here())
	return append(pre, f.with("$ := $", value, "$.isSet()", func(x *jen.Statement) []jen.Code {
		return []jen.Code{f.Src("$ = new($)", to, x)}
	})...)
}

// selfNamed fills a field whose default is the resource's name. An xdstp name
// has the type that it names, so it is never the name of a resource of another.
func (f *Func) selfNamed(d *model.Field, at Place, to string) []jen.Code {
	_, value := f.value(d, f.Get("m", d.Paths[0]), at)
	empty := f.Src("$ == \"\"", to)
	if d.Ref != "" && d.Ref != string(f.pkg.Message.Desc.FullName()) {
		empty = f.Src("$ && !dc.Name.IsXdstp()", empty)
	}
	out := []jen.Code{f.Src("$ = $", to, value), f.If(nil, empty, f.Src("$ = dc.Name.String()", to))}
	if d.Ref != "" {
		out = append(out, f.ref(d, f.path(at), f.Src("&$", to)))
	}
	return out
}

// hookField fills a field of target with the result of a hook.
func (f *Func) hookField(h model.Hook, target, to string) []jen.Code {
	return []jen.Code{f.Src("if x, err := $; err != nil {\nv.AddError($, err)\n} else {\n$ = x\n}", f.hookCall(h, target), f.path(f.hookPlace(h)), to)}
}

// hookCall calls a hook with the values that it needs, or with the current message. Fields
// that it needs are fields of target.
func (f *Func) hookCall(h model.Hook, target string) jen.Code {
	return f.Src("$(dc, $)", h.Func, f.hookArgs(h, jen.Id("m"), f.of, target))
}

// hookArgs are the values that a hook needs of m, a message of a type, or m itself.
func (f *Func) hookArgs(h model.Hook, m jen.Code, of *protogen.Message, target string) jen.Code {
	if len(h.Needs) == 0 {
		return f.askedMessage(m, of)
	}
	return jen.List(slice.Map(h.Needs, func(n model.Need) jen.Code {
		switch {
		case n.Field != nil:
			return jen.Op(target + "." + n.Field.GoName())
		case h.Encoded && n.Message():
			return f.encoded(m, n.Path)
		}
		return f.asked(m, n.Path)
	})...)
}

// hookPlace returns the place of a hook's errors: the only value that the hook needs, or
// the message.
func (f *Func) hookPlace(h model.Hook) Place {
	if len(h.Needs) != 1 {
		return f.Here()
	}
	n := h.Needs[0]
	if n.Field != nil && len(n.Field.Paths) == 1 {
		n.Path = n.Field.Paths[0]
	}
	return f.Here().Below(n.Path)
}
