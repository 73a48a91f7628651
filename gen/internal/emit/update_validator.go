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
func (f *Func) GoEach(x *jen.Statement, steps []model.GoStep, at Place, last bool, body Body) []jen.Code {
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
	_, isStruct := d.Value.(model.StructOf)
	inside := func(_ string, x *jen.Statement, at Place) []jen.Code {
		rest := func(x *jen.Statement) []jen.Code { return f.GoEach(x, steps[1:], at, last, body) }
		c := steps[0].Case
		if c == nil {
			return rest(x)
		}
		if c.Path != nil {
			at = at.Below(*c.Path)
		}
		return f.with("$, ok := $", f.Src("$.($)", x, c.Type), "ok", rest)
	}
	switch {
	case len(steps) == 1 && !last:
	case d.Optional:
		return f.with("$ := $", x, "$ != nil", func(x *jen.Statement) []jen.Code { return inside("", x, at) })
	case d.List || d.IsMap():
		return f.loop(loop{over: x, at: at, isMap: d.IsMap(), paths: true, addressed: d.List && isStruct}, inside)
	}
	return inside("", x, at)
}
