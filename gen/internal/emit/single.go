package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// singleField fills a field from one value that may be absent.
func (f *fn) singleField(d *model.Field, to func() *jen.Statement) []jen.Code {
	p := d.Paths[0]
	at := f.here().below(p)
	m := jen.Id("m")
	if d.SelfName {
		return f.selfNamed(d, to)
	}
	if v, ok := d.Value.(model.Converted); ok && v.Conversion.Func == "" {
		_, value := f.value(d, nil, at)
		return []jen.Code{jen.If(f.presence(m, p, true)).Block(to().Op("=").Add(value))}
	}
	var out []jen.Code
	if d.Default != nil {
		value := f.literal(*d.Default)
		if v, ok := d.Value.(model.EnumOf); ok {
			value = jen.Id(v.Enum.Constant(*d.Default))
		}
		out = append(out, to().Op("=").Add(value))
	}
	if p.Message() == nil {
		return append(out, jen.If(f.presence(m, p, true)).Block(f.assign(d, f.get(m, p), at, to)...))
	}
	return append(out, f.nested(func(l locals) []jen.Code {
		x := jen.Id(l.element)
		return []jen.Code{jen.If(jen.Add(x).Op(":=").Add(f.get(m, p)), jen.Add(x).Op("!=").Nil()).Block(f.assign(d, x, at, to)...)}
	})...)
}

// selfNamed fills a field whose default is the resource's name. An xdstp name
// says what type it names, so it is never the name of a resource of another.
func (f *fn) selfNamed(d *model.Field, to func() *jen.Statement) []jen.Code {
	at := f.here().below(d.Paths[0])
	_, value := f.value(d, f.get(jen.Id("m"), d.Paths[0]), at)
	empty := to().Op("==").Lit("")
	if d.Ref != "" && d.Ref != string(f.pkg.Message.Desc.FullName()) {
		empty = empty.Op("&&").Op("!").Add(f.dc()).Dot("Name").Dot("IsXdstp").Call()
	}
	out := []jen.Code{
		to().Op("=").Add(value),
		jen.If(empty).Block(to().Op("=").Add(f.dc()).Dot("Name").Dot("String").Call()),
	}
	if d.Ref != "" {
		out = append(out, f.ref(d, at, jen.Op("&").Add(to())))
	}
	return out
}

// hookField fills a field of target with the result of a hook.
func (f *fn) hookField(h model.Hook, target jen.Code, to func() *jen.Statement) []jen.Code {
	return []jen.Code{
		jen.If(
			jen.List(jen.Id("x"), jen.Id("err")).Op(":=").Add(f.hookCall(h, target)),
			jen.Id("err").Op("!=").Nil(),
		).Block(
			f.v().Dot("AddError").Call(f.path(f.hookPlace(h)), jen.Id("err")),
		).Else().Block(to().Op("=").Id("x")),
	}
}

// hookCall calls a hook with the values that it needs, or with the current message. Fields
// that it needs are fields of target.
func (f *fn) hookCall(h model.Hook, target jen.Code) jen.Code {
	args := []jen.Code{f.dc()}
	for _, n := range h.Needs {
		switch {
		case n.Field != nil:
			args = append(args, jen.Add(target).Dot(n.Field.GoName()))
		case h.Encoded && n.Message():
			args = append(args, f.encoded(jen.Id("m"), n.Path))
		default:
			args = append(args, f.asked(jen.Id("m"), n.Path))
		}
	}
	if len(h.Needs) == 0 {
		args = append(args, f.askedMessage(jen.Id("m"), f.of))
	}
	return jen.Id(h.Func).Call(args...)
}

// hookPlace returns the place of a hook's errors: the only value that the hook needs, or
// the message.
func (f *fn) hookPlace(h model.Hook) place {
	if len(h.Needs) != 1 {
		return f.here()
	}
	n := h.Needs[0]
	if n.Field == nil {
		return f.here().below(n.Path)
	}
	if len(n.Field.Paths) == 1 {
		return f.here().below(n.Field.Paths[0])
	}
	return f.here()
}
