package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// goChecks writes the function that checks the rules about Go fields.
func (e *emitter) goChecks() jen.Code {
	f := e.fn("validateUpdate", true)
	var body []jen.Code
	for _, c := range e.pkg.GoChecks {
		body = append(body, when(f.context(c.When), f.goCheck(c))...)
	}
	body = f.prelude(body)
	params := f.params(f.done(), "u", jen.Op("*").Id("Update"))
	return jen.Add(comment("validateUpdate checks the rules about the fields of the update.")).Line().
		Func().Id("validateUpdate").Params(params...).Block(body...)
}

// goCheck writes one rule.
func (f *fn) goCheck(c *model.GoCheck) []jen.Code {
	last := c.Path.Last()
	if c.Kind == model.Unique {
		return f.goUnique(c)
	}
	return f.goEach(jen.Id("u"), c.Path.Steps, f.here(), c.Elements, func(x *jen.Statement, at place) []jen.Code {
		shown := jen.Code(jen.Add(x))
		var broken jen.Code
		switch c.Kind {
		case model.Required:
			broken = f.goEmpty(last, x)
			shown = nil
			if last.Class() == model.String && !last.List && !last.IsMap() {
				shown = jen.Lit("")
			}
		case model.Compare:
			broken = comparisons()[c.Compare].broken(f.emitter, x, c.Values)
		case model.Range:
			broken = f.outside(x, c.Min, c.Max, false)
		case model.Length:
			text := !last.List && !last.IsMap() && last.Class() == model.String
			broken = f.lengthOutside(x, text, c.MinLen, c.MaxLen, false)
			if !text {
				shown = nil
			}
		default:
		}
		return []jen.Code{jen.If(broken).Block(f.violation(at, shown, goWording(c)))}
	})
}

// goUnique writes Unique: within one slice, or across the whole update.
func (f *fn) goUnique(c *model.GoCheck) []jen.Code {
	decls, broken := f.unique(f.goKeys(c), goWording(c))
	last := len(c.Path.Steps) - 1
	if c.Across {
		last = 0
	}
	return f.goEach(jen.Id("u"), c.Path.Steps[:last], f.here(), true, func(x *jen.Statement, at place) []jen.Code {
		return append(decls, f.goEach(x, c.Path.Steps[last:], at, true, func(x *jen.Statement, at place) []jen.Code {
			if len(c.Keys) == 1 {
				at = at.child(c.Keys[0].Name)
			}
			return broken(x, at)
		})...)
	})
}

// goKeys are the values by which the elements are told apart: fields, or the elements
// themselves.
func (f *fn) goKeys(c *model.GoCheck) []uniqueKey {
	if len(c.Keys) == 0 {
		_, isStruct := c.Path.Last().Value.(model.StructOf)
		return []uniqueKey{{typ: f.valueType(c.Path.Last().Value), shown: !isStruct, value: func(x jen.Code) jen.Code {
			if isStruct {
				return jen.Op("*").Add(x)
			}
			return x
		}}}
	}
	keys := make([]uniqueKey, len(c.Keys))
	for i, k := range c.Keys {
		keys[i] = uniqueKey{k.Name, f.goType(k), func(x jen.Code) jen.Code { return jen.Add(x).Dot(k.Name) }, true}
	}
	return keys
}

// goEmpty is the condition that a field has the value that means nothing.
func (f *fn) goEmpty(d *model.Field, x *jen.Statement) jen.Code {
	switch class := d.Class(); {
	case d.List || d.IsMap() || class == model.Bytes || class == model.JSON || class == model.JSONList:
		return jen.Len(x).Op("==").Lit(0)
	case d.Optional || class == model.NoClass || class == model.JSONValue:
		return jen.Add(x).Op("==").Nil()
	case class == model.String:
		return jen.Add(x).Op("==").Lit("")
	case class == model.Bool:
		return jen.Op("!").Add(x)
	}
	return jen.Add(x).Op("==").Lit(0)
}

// goEach runs body for every value that the steps lead to from x. Elements of a
// slice at the end are each a value only where last says so.
func (f *fn) goEach(x *jen.Statement, steps []model.GoStep, at place, last bool, body func(x *jen.Statement, at place) []jen.Code) []jen.Code {
	if len(steps) == 0 {
		return body(x, at)
	}
	d := steps[0].Field
	x = jen.Add(x).Dot(d.GoName())
	at = at.child(d.Name)
	end := len(steps) == 1
	rest := func(x *jen.Statement, at place) []jen.Code { return f.goEach(x, steps[1:], at, last, body) }
	switch {
	case d.List && (!end || last):
		return f.nested(func(l locals) []jen.Code {
			item := &pathVar{name: f.pathName()}
			f.paths++
			inner := f.goCase(jen.Id(l.element), steps[0].Case, place{v: item}, rest)
			f.paths--
			return []jen.Code{f.goLoop(l, x, at, item, inner, d)}
		})
	case d.IsMap() && (!end || last):
		return f.nested(func(l locals) []jen.Code {
			key, item := f.mapKey(), &pathVar{name: f.pathName()}
			f.paths++
			inner := f.goCase(jen.Id(l.element), steps[0].Case, place{v: item}, rest)
			f.paths--
			return []jen.Code{f.mapLoop(key, l.element, x, at, item, inner)}
		})
	case d.Optional && (!end || last):
		return f.nested(func(l locals) []jen.Code {
			y := jen.Id(l.element)
			return []jen.Code{jen.If(jen.Add(y).Op(":=").Add(x), jen.Add(y).Op("!=").Nil()).Block(rest(y, at)...)}
		})
	}
	return f.goCase(x, steps[0].Case, at, rest)
}

// goCase looks into one case of a oneof.
func (f *fn) goCase(x *jen.Statement, c *model.Case, at place, rest func(*jen.Statement, place) []jen.Code) []jen.Code {
	if c == nil {
		return rest(x, at)
	}
	return f.nested(func(l locals) []jen.Code {
		y := jen.Id(l.element)
		return []jen.Code{jen.If(
			jen.List(jen.Add(y), jen.Id("ok")).Op(":=").Add(x).Assert(jen.Id(c.Type)), jen.Id("ok"),
		).Block(rest(y, at.child(c.Type))...)}
	})
}

// goLoop writes a loop over a slice. Structs are not copied.
func (f *fn) goLoop(l locals, list *jen.Statement, at place, item *pathVar, body []jen.Code, d *model.Field) jen.Code {
	index := "_"
	if item.used {
		index = l.index
		at.v.used = true
		decl := jen.Id(item.name).Op(":=").Id(at.v.name).Dot("Item").Call(jen.Lit(at.field), jen.Id(index))
		body = append([]jen.Code{decl}, body...)
	}
	if _, ok := d.Value.(model.StructOf); ok {
		element := jen.Id(l.element).Op(":=").Op("&").Add(list).Index(jen.Id(l.index))
		return jen.For(jen.Id(l.index).Op(":=").Range().Add(list)).Block(append([]jen.Code{element}, body...)...)
	}
	return jen.For(jen.List(jen.Id(index), jen.Id(l.element)).Op(":=").Range().Add(list)).Block(body...)
}

// child is the place of a Go field seen from pl.
func (pl place) child(name string) place {
	if pl.field != "" {
		name = pl.field + "." + name
	}
	return place{pl.v, name}
}
