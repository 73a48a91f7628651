package emit

import (
	"cmp"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// goChecks writes the function that checks the rules about Go fields.
func (e *emitter) goChecks() jen.Code {
	f := e.fn(nil)
	body := slice.FlatMap(e.pkg.GoChecks, func(c *model.Check) []jen.Code { return f.When(f.conds("u", c.When), f.goCheck(c)) })
	return f.validates("validateUpdate", "checks the rules about the fields of the update.", "u", jen.Op("*Update"), body)
}

// goCheck writes one rule.
func (f *Func) goCheck(c *model.Check) []jen.Code {
	if r, ok := c.Rule.(GoCoder); ok {
		return r.GoCode(f, c)
	}
	return f.GoEach(jen.Id("u"), c.Go.Steps, f.Here(), c.Elements, func(x *jen.Statement, at Place) []jen.Code {
		broken, shown := c.Rule.(Condition).Broken(f, x)
		return []jen.Code{f.If(nil, broken, f.Violation(at, shown, RuleText(c)))}
	})
}

// GoEmpty is the condition that a field has the value that means nothing.
func (f *Func) GoEmpty(d *model.Field, x jen.Code) jen.Code { return f.valueSet(d, x, false) }

// GoEach runs body for every value that the steps lead to from x. The elements of a
// slice at the end are single values only if last is true.
func (f *Func) GoEach(x *jen.Statement, steps []model.GoStep, at Place, last bool, body func(x *jen.Statement, at Place) []jen.Code) []jen.Code {
	if len(steps) == 0 {
		return body(x, at)
	}
	d := steps[0].Field
	x = f.Src("$.$", x, d.GoName())
	name := d.PathName()
	if len(steps) == 1 {
		name = cmp.Or(name, d.Name)
	}
	at = at.Child(name)
	rest := func(x *jen.Statement, at Place) []jen.Code { return f.GoEach(x, steps[1:], at, last, body) }
	if (d.List || d.IsMap() || d.Optional) && (len(steps) > 1 || last) {
		return f.nested(func(index, element string) []jen.Code {
			y := jen.Id(element)
			if d.Optional {
				return []jen.Code{f.If(f.Src("$ := $", y, x), f.Src("$ != nil", y), rest(y, at)...)}
			}
			key := index
			if d.IsMap() {
				key = f.mapKey()
			}
			item, inner := f.inElement(func(item string) []jen.Code { return f.goCase(y, steps[0].Case, Place{variable: item}, rest) })
			if d.IsMap() {
				return []jen.Code{f.mapLoop(key, element, x, at, item, inner)}
			}
			return []jen.Code{f.goLoop(index, element, x, at, item, inner, d)}
		})
	}
	return f.goCase(x, steps[0].Case, at, rest)
}

// goCase looks into one case of a oneof.
func (f *Func) goCase(x *jen.Statement, c *model.Case, at Place, rest func(*jen.Statement, Place) []jen.Code) []jen.Code {
	if c == nil {
		return rest(x, at)
	}
	if c.Path != nil {
		at = at.Below(*c.Path)
	}
	return f.nested(func(_, element string) []jen.Code {
		return []jen.Code{f.If(f.Src("$, ok := $.($)", element, x, c.Type), jen.Id("ok"), rest(jen.Id(element), at)...)}
	})
}

// goLoop writes a loop over a slice. Structs are not copied.
func (f *Func) goLoop(index, element string, list *jen.Statement, at Place, item string, body []jen.Code, d *model.Field) jen.Code {
	path := f.Src("$ := $.Item($, $)", item, at.variable, jen.Lit(at.field), index)
	if _, ok := d.Value.(model.StructOf); ok {
		return f.Src("for $ := range $ {\n$ := &$[$]\n$\n$\n}", index, list, element, list, index, path, body)
	}
	return f.Src("for $, $ := range $ {\n$\n$\n}", index, element, list, path, body)
}
