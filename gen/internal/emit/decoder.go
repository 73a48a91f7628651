package emit

import (
	"cmp"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// decoder writes the functions that decode an update from a message.
func (e *emitter) decoder() []jen.Code {
	return slices.Concat(e.template("peekname"), e.hookTypes(), e.decodeFunctions())
}

// decodeFunctions are the function that the framework calls and those that it calls.
func (e *emitter) decodeFunctions() []jen.Code {
	out := e.template("decode")
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

// decodeUpdate writes the method that fills the update's fields.
func (e *emitter) decodeUpdate() jen.Code {
	f := e.fn(e.pkg.Message)
	body := slice.FlatMap(e.pkg.Update.Fields, func(d *model.Field) []jen.Code { return f.field("u", d) })
	return f.decodes("decode", "reads the fields of the update.", "(u *Update) ", "", e.view(e.pkg.Message), "", body)
}

// decodeStruct writes the function that decodes a struct from its message.
func (e *emitter) decodeStruct(s *model.Struct) jen.Code {
	f := e.fn(s.Message)
	doc, result, target := "reads one "+s.Name, s.Name, ""
	var body []jen.Code
	switch {
	case e.isLiteral(s):
		values := slice.Map(s.Fields, func(d *model.Field) jen.Code { return f.Src("$: $", d.GoName(), f.expr(d)) })
		body = []jen.Code{f.Src("return $$", s.Name, lines(values...))}
	case e.fillsPlace(s):
		doc += " into its place in a list"
		result, target = "", "s *"+s.Name+", "
		body = f.structBody(s, "return")
	case s.Keep != nil:
		doc += ", and reports whether it is kept"
		result = "(" + s.Name + ", bool)"
		body = f.returnedBody(s, "return s, true")
	default:
		body = f.returnedBody(s, "return s")
	}
	return f.decodes("decode"+s.Name, doc+".", "", target, e.view(s.Message), result, body)
}

// isLiteral reports whether one composite literal decodes a struct.
func (e *emitter) isLiteral(s *model.Struct) bool {
	f := e.fn(s.Message)
	return s.Keep == nil && s.Stop == nil && s.Rules == nil &&
		!slices.ContainsFunc(s.Fields, func(d *model.Field) bool { return f.expr(d) == nil })
}

// fillsPlace reports whether the function that decodes a struct fills the struct at a pointer,
// instead of returning one. It does so if views are its source, if it takes more than a composite
// literal, and if the struct is only in lists that keep all elements.
func (e *emitter) fillsPlace(s *model.Struct) bool {
	if e.views == nil || s == e.pkg.Update || s.Keep != nil || e.isLiteral(s) {
		return false
	}
	for _, in := range e.pkg.All() {
		for _, d := range in.Fields {
			if v, ok := d.Value.(model.StructOf); ok && v.Struct == s && (!d.List || d.Optional || d.Ref != "" || v.Any != nil) {
				return false
			}
		}
	}
	return len(s.Cases) == 0
}

// returnedBody declares a struct, reads it, and ends with a statement that returns it.
func (f *Func) returnedBody(s *model.Struct, end string) []jen.Code {
	return slices.Concat([]jen.Code{jen.Op("var s " + s.Name)}, f.structBody(s, end), []jen.Code{f.Src(end)})
}

// structBody reads a struct field by field. It first reads the fields that decide whether
// to keep an element. The statement end leaves the function where the rest is not read.
func (f *Func) structBody(s *model.Struct, end string) []jen.Code {
	first, body := f.keep(s.Keep)
	read := func(fields []*model.Field) {
		for _, d := range fields {
			if d != first {
				body = append(body, f.field("s", d)...)
			}
		}
	}
	rest := s.Fields
	if stop := s.Stop; stop != nil {
		n := slices.Index(s.Fields, stop.NonEmpty) + 1
		read(s.Fields[:n])
		rest = s.Fields[n:]
		conds := append(f.context(model.Context{Profile: stop.Profile}), f.valueSet(stop.NonEmpty, "s."+stop.NonEmpty.GoName(), true))
		body = append(body, f.If(nil, f.And(conds...), f.Src(end)))
	}
	if s.Rules != nil {
		body = append(body, f.validate(s.Rules, f.Here(), jen.Id("m"))...)
	}
	read(rest)
	return body
}

// keep drops an element that is not kept. It returns the field that it reads for this.
func (f *Func) keep(k *model.Keep) (first *model.Field, body []jen.Code) {
	if k == nil {
		return nil, nil
	}
	if first = cmp.Or(k.Positive, k.NonEmpty); first != nil {
		body = f.field("s", first)
	}
	var drop jen.Code
	switch {
	case first == nil:
		drop = f.Presence("m", k.Present.Path, false)
	case first == k.Positive && first.Class() != model.Uint32 && first.Class() != model.Uint64: // those are never below zero
		drop = f.Src("s.$ <= 0", first.GoName())
	default:
		drop = f.valueSet(first, "s."+first.GoName(), false)
	}
	conds := append(f.context(model.Context{Profile: k.Profile}), drop)
	return first, append(body, f.If(nil, f.And(conds...), f.Src("return s, false")))
}

// decodeEnum writes the function that checks the number of an enum.
func (e *emitter) decodeEnum(enum *model.Enum) jen.Code {
	name := e.named("decode" + enum.Name)
	doc, before, after := name+" reads one "+enum.Name, "p resource.Path, ", ", v *resource.Violations"
	var other jen.Code
	if o := enum.Otherwise; o != nil {
		doc, before, after = doc+"; any other number is "+o.Name, "", ""
		other = e.Src("return $", o.Name)
	} else {
		names := slice.Map(enum.Values, func(v model.EnumValue) string { return model.ValueName(v.Value) })
		other = e.Src("v.AddFirst(p, x, $)", jen.Lit(OneOf(names)))
	}
	values := slice.Map(enum.Values, func(v model.EnumValue) jen.Code { return e.ident(v.Value.GoIdent) })
	check := e.Src("switch x {\ncase $:\ndefault:\n$\n}", jen.List(values...), other)
	if len(values) == 1 {
		check = e.Src("if x != $ {\n$\n}", values[0], other)
	}
	return e.documented(doc+".", "func $($x $$) $ {\n$\nreturn $(x)\n}",
		name, e.Src(before), e.ident(enum.Enum.GoIdent), e.Src(after), enum.Name, check, enum.Name)
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
