package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// decoder writes the functions that decode an update from a message.
func (e *emitter) decoder() []jen.Code {
	var out []jen.Code
	if e.pkg.NameField != nil {
		out = append(out, e.peekName())
	}
	out = append(out, e.hookTypes()...)
	return append(out, e.decodeFunctions()...)
}

// decodeFunctions are the function that the framework calls and those that it calls.
func (e *emitter) decodeFunctions() []jen.Code {
	var out []jen.Code
	fields := e.decodeUpdate()
	out = append(out, e.decode())
	if fields != nil {
		out = append(out, fields)
	}
	for _, s := range slices.Concat([]*model.Struct{e.pkg.Update}, e.pkg.Structs) {
		if s != e.pkg.Update {
			out = append(out, e.decodeStruct(s))
		}
		for _, o := range s.Oneofs() {
			out = append(out, e.decodeOneof(o))
		}
	}
	for _, enum := range e.pkg.Enums {
		out = append(out, e.decodeEnum(enum))
	}
	for _, s := range e.pkg.Picks {
		out = append(out, e.pick(s))
	}
	return out
}

// peekName writes the function that reads the name of an encoded resource.
func (e *emitter) peekName() jen.Code {
	return jen.Add(comment("peekName reads the resource's name, the field "+string(e.pkg.NameField.Desc.Name())+", from its encoded message.")).Line().
		Func().Id("peekName").Params(jen.Id("body").Index().Byte()).Params(jen.String(), jen.Error()).Block(
		jen.Return(e.qual(wirePkg, "PeekString").Call(jen.Id("body"), jen.Lit(int(e.pkg.NameField.Desc.Number())))),
	)
}

// decode writes the function that the framework calls.
func (e *emitter) decode() jen.Code {
	body := append(e.readMessage(),
		jen.Id("u").Op(":=").Op("&").Id("Update").Values(jen.Id("meta").Op(":").Id("dc").Dot("Meta").Call(jen.Id("body"))),
	)
	steps, violations := e.decodeSteps()
	if violations {
		body = append(body, jen.Id("v").Op(":=").New(e.resource("Violations")))
	}
	body = append(body, steps...)
	if violations {
		body = append(body, jen.If(jen.Id("err").Op(":=").Id("v").Dot("Err").Call(), jen.Id("err").Op("!=").Nil()).Block(
			jen.Return(jen.Nil(), jen.Id("err")),
		))
	}
	result := jen.Op("*").Id("Update")
	if e.oracle {
		result = e.resource("Update")
	}
	return jen.Func().Id("decode").Params(jen.Id("dc").Op("*").Add(e.resource("DecodeContext")), jen.Id("body").Index().Byte()).
		Params(result, jen.Error()).Block(append(body, jen.Return(jen.Id("u"), jen.Nil()))...)
}

// decodeSteps are rules, fields, rules about Go fields and finish hooks, in this
// order.
func (e *emitter) decodeSteps() (steps []jen.Code, violations bool) {
	call := func(fn *jen.Statement, u uses, arg string) {
		var args []jen.Code
		if u.dc {
			args = append(args, jen.Id("dc"))
		}
		args = append(args, jen.Id(arg))
		if u.violations {
			args = append(args, jen.Id("v"))
		}
		violations = violations || u.violations
		steps = append(steps, fn.Call(args...))
	}
	if e.pkg.Update.Rules != nil {
		call(jen.Id("validate"), e.uses["validate"], "m")
	}
	if len(e.pkg.Update.Fields) > 0 {
		call(jen.Id("u").Dot("decode"), e.uses["decode"], "m")
	}
	if len(e.pkg.GoChecks) > 0 {
		call(jen.Id("validateUpdate"), e.uses["validateUpdate"], "u")
	}
	for _, h := range e.pkg.Checkers {
		violations = true
		steps = append(steps, jen.Id(h).Call(jen.Id("dc"), jen.Id("u"), jen.Id("v")))
	}
	for _, h := range e.pkg.Finish {
		violations = true
		steps = append(steps, jen.If(jen.Id("v").Dot("Err").Call().Op("==").Nil()).Block(
			jen.Id(h).Call(jen.Id("dc"), jen.Id("u"), jen.Id("v")),
		))
	}
	return steps, violations
}

// decodeUpdate writes the method that fills the update's fields.
func (e *emitter) decodeUpdate() jen.Code {
	if len(e.pkg.Update.Fields) == 0 {
		return nil
	}
	f := e.fn("decode", true)
	f.of = e.pkg.Message
	var body []jen.Code
	for _, field := range e.pkg.Update.Fields {
		body = append(body, f.field(jen.Id("u"), field)...)
	}
	body = f.prelude(body)
	u := f.done()
	return jen.Add(comment("decode reads the fields of the update.")).Line().
		Func().Params(jen.Id("u").Op("*").Id("Update")).Id("decode").
		Params(f.params(u, "m", e.view(e.pkg.Message))...).Block(body...)
}

// decodeStruct writes the function that decodes a struct from its message.
func (e *emitter) decodeStruct(s *model.Struct) jen.Code {
	f := e.fn("decode"+s.Name, false)
	f.of = s.Message
	doc, result := "decode"+s.Name+" reads one "+s.Name+".", jen.Id(s.Name)
	var body []jen.Code
	if s.Keep != nil {
		doc = "decode" + s.Name + " reads one " + s.Name + ", and reports whether it is kept."
		result = jen.Params(jen.Id(s.Name), jen.Bool())
	}
	if values, ok := f.literalFields(s); ok {
		body = []jen.Code{jen.Return(jen.Id(s.Name).Add(multiline(values...)))}
	} else {
		f.used.place = e.onlyInLists(s)
		body = f.structBody(s)
	}
	u, m := f.done(), "m"
	if len(s.Fields) == 0 && s.Rules == nil && s.Keep == nil {
		m = "_"
	}
	params := f.params(u, m, e.view(s.Message))
	if u.place {
		doc, result = "decode"+s.Name+" reads one "+s.Name+" into its place in a list.", nil
		params = slices.Insert(params, 0, jen.Code(jen.Id("s").Op("*").Id(s.Name)))
	}
	return jen.Add(comment(doc)).Line().Func().Id(f.name).Params(params...).Add(result).Block(body...)
}

// literalFields returns the elements of a composite literal of s, if each field is a single
// expression without other statements.
func (f *fn) literalFields(s *model.Struct) ([]jen.Code, bool) {
	if s.Keep != nil || s.Stop != nil || s.Rules != nil || s.Side != "" {
		return nil, false
	}
	before := *f.self
	used := f.used
	var out []jen.Code
	for _, field := range s.Fields {
		x, ok := f.expr(field)
		if !ok {
			*f.self, f.used = before, used
			return nil, false
		}
		out = append(out, jen.Id(field.GoName()).Op(":").Add(x))
	}
	return out, true
}

// structBody reads a struct field by field. It first reads the fields that decide whether
// to keep an element.
func (f *fn) structBody(s *model.Struct) []jen.Code {
	target := jen.Id("s")
	var body []jen.Code
	if !f.used.place {
		body = append(body, jen.Var().Id("s").Id(s.Name))
	}
	var first *model.Field
	if k := s.Keep; k != nil {
		var drop jen.Code
		switch {
		case k.Present != nil:
			drop = f.presence(jen.Id("m"), k.Present.Path, false)
		case k.Positive != nil:
			first = k.Positive
			drop = jen.Id("s").Dot(first.GoName()).Op(positiveDrop(first)).Lit(0)
		default:
			first = k.NonEmpty
			drop = f.goEmpty(first, jen.Id("s").Dot(first.GoName()))
		}
		if first != nil {
			body = append(body, f.field(target, first)...)
		}
		if k.Profile != "" {
			drop = f.profile(k.Profile).Op("&&").Add(drop)
		}
		body = append(body, jen.If(drop).Block(jen.Return(jen.Id("s"), jen.False())))
	}
	rest := s.Fields
	if s.Stop != nil {
		n := slices.Index(s.Fields, s.Stop.NonEmpty) + 1
		body = append(f.fields(body, s.Fields[:n], first), f.stop(s))
		rest = s.Fields[n:]
	}
	if s.Rules != nil {
		pre, call := f.call(s.Rules.Func, f.here(), jen.Id("m"))
		body = append(append(body, pre...), call)
	}
	body = f.fields(body, rest, first)
	if s.Side != "" && f.used.dc {
		body = slices.Insert(body, 0, jen.Code(jen.Id("dc").Op("=").Id("dc").Dot("At").Call(f.sideOf(s.Side))))
	}
	switch {
	case f.used.place:
		return body
	case s.Keep != nil:
		return append(body, jen.Return(jen.Id("s"), jen.True()))
	}
	return append(body, jen.Return(jen.Id("s")))
}

// fields appends the code that sets fields of a struct, except one that is set already.
func (f *fn) fields(body []jen.Code, fields []*model.Field, but *model.Field) []jen.Code {
	for _, d := range fields {
		if d != but {
			body = append(body, f.field(jen.Id("s"), d)...)
		}
	}
	return body
}

// stop ends the function where the rest of a struct is not read.
func (f *fn) stop(s *model.Struct) jen.Code {
	var out []jen.Code
	switch {
	case s.Keep != nil:
		out = []jen.Code{jen.Id("s"), jen.True()}
	case !f.used.place:
		out = []jen.Code{jen.Id("s")}
	}
	d := s.Stop.NonEmpty
	cond := jen.Id("s").Dot(d.GoName()).Op("!=").Lit("")
	if d.List || d.IsMap() || d.Class() != model.String && d.Class() != model.NoClass {
		cond = jen.Len(jen.Id("s").Dot(d.GoName())).Op(">").Lit(0)
	}
	if s.Stop.Profile != "" {
		cond = f.profile(s.Stop.Profile).Op("&&").Add(cond)
	}
	return jen.If(cond).Block(jen.Return(out...))
}

// positiveDrop is the comparison with zero that drops: no unsigned number is
// below it.
func positiveDrop(f *model.Field) string {
	switch f.Class() {
	case model.Uint32, model.Uint64:
		return "=="
	default:
		return "<="
	}
}

// pick writes the function that chooses an element of a repeated message.
func (e *emitter) pick(s model.Step) jen.Code {
	f := e.fn(s.Pick.Func, false)
	path := model.Path{From: s.Field.Parent, Steps: []model.Step{{Field: s.Field}}}
	return jen.Add(comment(s.Pick.Func+" chooses the first element that fits.")).Line().
		Func().Id(s.Pick.Func).Params(jen.Id("list").Index().Add(e.element(s.Field))).Add(e.view(s.Field.Message)).Block(
		jen.For(jen.List(jen.Id("_"), jen.Id("x")).Op(":=").Range().Add(e.elements(jen.Id("list"), path))).Block(
			jen.If(and(f.conds(jen.Id("x"), model.Cond{Tests: s.Pick.Tests})...)).Block(jen.Return(jen.Id("x"))),
		),
		jen.Return(jen.Nil()),
	)
}
