package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// decoder writes the functions that decode an update from a message.
func (e *emitter) decoder() []jen.Code {
	var out []jen.Code
	if f := e.pkg.NameField; f != nil {
		out = append(out, e.documented("peekName reads the resource's name, the field "+string(f.Desc.Name())+", from its encoded message.",
			"func peekName(body []byte) (string, error) {\nreturn wire.PeekString(body, $)\n}", int(f.Desc.Number())))
	}
	out = append(out, e.hookTypes()...)
	return append(out, e.decodeFunctions()...)
}

// decodeFunctions are the function that the framework calls and those that it calls.
func (e *emitter) decodeFunctions() []jen.Code {
	out := []jen.Code{e.decode()}
	if len(e.pkg.Update.Fields) > 0 {
		out = append(out, e.decodeUpdate())
	}
	for _, s := range e.pkg.All() {
		if s != e.pkg.Update {
			out = append(out, e.decodeStruct(s))
		}
		out = append(out, slice.Map(s.Oneofs(), e.decodeOneof)...)
	}
	out = append(out, slice.Map(e.pkg.Enums, e.decodeEnum)...)
	return append(out, slice.Map(e.pkg.Picks, e.pick)...)
}

// decode writes the function that the framework calls.
func (e *emitter) decode() jen.Code {
	steps, violations := e.decodeSteps()
	created, checked, result := "", "", e.Src("*Update")
	if violations {
		created, checked = "v := new(resource.Violations)\n", "if err := v.Err(); err != nil {\nreturn nil, err\n}\n"
	}
	if e.wireTest {
		result = e.Src("resource.Update")
	}
	return e.Src("func $(dc *resource.DecodeContext, body []byte) ($, error) {\n$\nu := &Update{meta: dc.Meta(body)}\n$$\n$return u, nil\n}",
		e.named("decode"), result, e.readMessage(), e.Src(created), steps, checked)
}

// decodeSteps are rules, fields, rules about Go fields and finish hooks, in this
// order.
func (e *emitter) decodeSteps() (steps []jen.Code, violations bool) {
	call := func(receiver, name, arg string) {
		n := e.needs[name] &^ (needsMeta | needsPath)
		violations = violations || n&needsViolations != 0
		steps = append(steps, e.Src("$($)", receiver+e.named(name), list(n.list(jen.Id("dc"), nil, nil, jen.Id(arg), jen.Id("v"))...)))
	}
	if e.pkg.Update.Rules != nil {
		call("", "validate", "m")
	}
	if len(e.pkg.Update.Fields) > 0 {
		call("u.", "decode", "m")
	}
	if len(e.pkg.GoChecks) > 0 {
		call("", "validateUpdate", "u")
	}
	steps = append(steps, slice.Map(e.pkg.Checkers, func(hook string) jen.Code { return e.Src("$(dc, u, v)", hook) })...)
	steps = append(steps, slice.Map(e.pkg.Finish, func(hook string) jen.Code { return e.Src("if v.Err() == nil {\n$(dc, u, v)\n}", hook) })...)
	return steps, violations || len(e.pkg.Checkers)+len(e.pkg.Finish) > 0
}

// decodeUpdate writes the method that fills the update's fields.
func (e *emitter) decodeUpdate() jen.Code {
	f := e.fn("decode", true)
	f.of = e.pkg.Message
	body := slice.FlatMap(e.pkg.Update.Fields, func(d *model.Field) []jen.Code { return f.field("u", d) })
	return f.declare("reads the fields of the update.", "(u *Update) ", "m", e.view(e.pkg.Message), "", body)
}

// decodeStruct writes the function that decodes a struct from its message.
func (e *emitter) decodeStruct(s *model.Struct) jen.Code {
	f := e.fn("decode"+s.Name, false)
	f.of = s.Message
	doc, result, target := "reads one "+s.Name, s.Name, ""
	var body []jen.Code
	switch {
	case s.Keep != nil:
		doc += ", and reports whether it is kept"
		result = "(" + s.Name + ", bool)"
	case e.fillsPlace(s):
		doc += " into its place in a list"
		result, target = "", "s *"+s.Name+", "
	}
	if e.isLiteral(s) {
		values := slice.Map(s.Fields, func(d *model.Field) jen.Code { return f.Src("$: $", d.GoName(), f.expr(d)) })
		body = []jen.Code{f.Src("return $$", s.Name, lines(values...))}
	} else {
		body = f.structBody(s)
	}
	m := "m"
	if len(s.Fields) == 0 && s.Rules == nil && s.Keep == nil {
		m = "_"
	}
	name := f.named(f.name)
	return f.documented(name+" "+doc+".", "func $($$) $ {\n$\n}", name, target, list(f.params(m, e.view(s.Message))...), result, body)
}

// isLiteral reports whether one composite literal decodes a struct.
func (e *emitter) isLiteral(s *model.Struct) bool {
	return s.Keep == nil && s.Stop == nil && s.Rules == nil && s.Side == "" &&
		!slices.ContainsFunc(s.Fields, func(d *model.Field) bool { return !e.isExpr(d) })
}

// structBody reads a struct field by field. It first reads the fields that decide whether
// to keep an element.
func (f *Func) structBody(s *model.Struct) []jen.Code {
	var body []jen.Code
	if s.Side != "" && f.needs[f.name]&needsContext != 0 {
		body = append(body, f.Src("dc = dc.At($)", f.sideOf(s.Side)))
	}
	inPlace, result := f.fillsPlace(s), jen.Op("s")
	switch {
	case s.Keep != nil:
		result = jen.Op("s, true")
	case inPlace:
		result = jen.Null()
	}
	if !inPlace {
		body = append(body, jen.Op("var s "+s.Name))
	}
	first, code := f.keep(s.Keep)
	body = append(body, code...)
	rest := s.Fields
	if s.Stop != nil {
		n := slices.Index(s.Fields, s.Stop.NonEmpty) + 1
		body = append(f.fields(body, s.Fields[:n], first), f.stop(s.Stop, result))
		rest = s.Fields[n:]
	}
	if s.Rules != nil {
		pre, call := f.call(s.Rules.Func, f.Here(), jen.Id("m"))
		body = append(append(body, pre...), call)
	}
	body = f.fields(body, rest, first)
	if inPlace {
		return body
	}
	return append(body, f.Src("return $", result))
}

// keep drops an element that is not kept. It returns the field that it reads for this.
func (f *Func) keep(k *model.Keep) (first *model.Field, body []jen.Code) {
	if k == nil {
		return nil, nil
	}
	var drop jen.Code
	switch {
	case k.Present != nil:
		drop = f.Presence("m", k.Present.Path, false)
	case k.Positive != nil:
		first = k.Positive
		below := "<="
		if c := first.Class(); c == model.Uint32 || c == model.Uint64 { // never below zero
			below = "=="
		}
		drop = f.Src("s.$ $ 0", first.GoName(), below)
	default:
		first = k.NonEmpty
		drop = f.valueSet(first, "s."+first.GoName(), false)
	}
	if first != nil {
		body = f.field("s", first)
	}
	conds := []jen.Code{drop}
	if k.Profile != "" {
		conds = []jen.Code{f.profile(k.Profile), drop}
	}
	return first, append(body, f.If(nil, f.And(conds...), f.Src("return s, false")))
}

// fields appends the code that sets fields of a struct, except one that is set already.
func (f *Func) fields(body []jen.Code, fields []*model.Field, but *model.Field) []jen.Code {
	others := slice.Filter(fields, func(d *model.Field) bool { return d != but })
	return append(body, slice.FlatMap(others, func(d *model.Field) []jen.Code { return f.field("s", d) })...)
}

// stop ends the function where the rest of a struct is not read.
func (f *Func) stop(s *model.Stop, result jen.Code) jen.Code {
	d := s.NonEmpty
	cond := f.valueSet(d, "s."+d.GoName(), true)
	if s.Profile != "" {
		cond = f.Src("$ && $", f.profile(s.Profile), cond)
	}
	return f.If(nil, cond, f.Src("return $", result))
}

// pick writes the function that chooses an element of a repeated message.
func (e *emitter) pick(s model.Step) jen.Code {
	elements := e.Src("list")
	if e.inPlace(s.Field) {
		elements = e.Src("wire.Each(list)")
	}
	fits := e.And(e.conds("x", model.Cond{Tests: s.Pick.Tests})...)
	name := e.named(s.Pick.Func)
	return e.documented(name+" chooses the first element that fits.",
		"func $(list []$) $ {\nfor _, x := range $ {\nif $ {\nreturn x\n}\n}\nreturn nil\n}",
		name, e.element(s.Field), e.view(s.Field.Message), elements, fits)
}
