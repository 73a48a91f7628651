package emit

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// decodeOneof writes the function that finds the case that applies.
func (e *emitter) decodeOneof(o *model.Oneof) jen.Code {
	f := e.fn(o.Message)
	var body []jen.Code
	always := false
	for i, c := range o.Cases {
		switch same := sameAny(o, c); {
		case c.Any == nil:
			var conds []jen.Code
			conds, body = f.addCase(body, c)
			always = len(conds) == 0
		case same[0] == c: // the first case of this Any
			body = append(body, f.anyCases(same, lastOfAny(o, i, same)))
		}
	}
	if !always {
		body = append(body, f.Src("return nil"))
	}
	return f.decodes("decode"+o.Name, "returns the case that applies, or nil if none applies.", "", "", f.view(o.Message), o.Name, body)
}

// addCase adds the code for the value of a case to body, and returns its condition.
func (f *Func) addCase(body []jen.Code, c *model.Case) (conds, code []jen.Code) {
	x, at := jen.Id("m"), f.Here()
	var init jen.Code
	if c.Path != nil && c.Path.Message() != nil && c.Hook == nil {
		x, at = jen.Id("x"), f.Here().Below(*c.Path)
		init, conds = f.caseConds(c)
	} else {
		init, conds = f.sharedConds(c.When)
	}
	var value []jen.Code
	if c.Hook != nil {
		value = []jen.Code{f.Src("x, err := $\nif err != nil {\nv.AddError($, err)\nreturn nil\n}\nreturn x",
			f.hookCall(*c.Hook, ""), f.path(f.hookPlace(*c.Hook)))}
	} else {
		pre, call := f.decoded(c.Struct.Name, c.Struct.Side, x, at)
		value = slices.Concat(pre, []jen.Code{f.Src("return $", call)})
	}
	if len(conds) == 0 {
		return nil, append(body, value...)
	}
	return conds, append(body, f.If(init, f.And(conds...), value...))
}

// sharedConds are the tests of a condition. If all are about fields of one inner message, init declares it as x.
func (f *Func) sharedConds(c model.Cond) (init jen.Code, conds []jen.Code) {
	if len(c.Tests) < 2 || len(c.Tests[0].Path.Steps) < 2 {
		return nil, f.conds("m", c)
	}
	at := c.Tests[0].Path.Parent()
	if at.Many() || slices.ContainsFunc(c.Tests, func(t model.Test) bool {
		rest, ok := t.Path.Behind(at)
		return !ok || f.ReadsStruct(rest)
	}) {
		return nil, f.conds("m", c)
	}
	return f.Src("x := $", f.Get("m", at)), f.CondsAt("m", c, "x", at)
}

// caseConds are the conditions of a case of a message, which init declares as x.
func (f *Func) caseConds(c *model.Case) (init jen.Code, conds []jen.Code) {
	w := c.When
	if !w.Context.Empty() || len(w.Tests) != 1 || w.Tests[0].Kind != model.Present || w.Tests[0].Path.String() != c.Path.String() {
		conds = f.conds("m", w) // it is not only that there is the message
	}
	return f.Src("x := $", f.Get("m", *c.Path)), append([]jen.Code{f.Src("x != nil")}, conds...)
}

// sameAny are the cases that open the same Any under the same condition.
func sameAny(o *model.Oneof, c *model.Case) []*model.Case {
	return slice.Filter(o.Cases, func(other *model.Case) bool {
		return c.Any != nil && other.Any != nil && other.Path.String() == c.Path.String() && model.SameCond(other.When, c.When)
	})
}

// lastOfAny reports whether all cases from i on are among those of one Any.
func lastOfAny(o *model.Oneof, i int, same []*model.Case) bool {
	return !slices.ContainsFunc(o.Cases[i:], func(c *model.Case) bool { return !slices.Contains(same, c) })
}

// anyCases writes the cases of one Any: another message than theirs is a
// violation, and no later case is tried.
func (f *Func) anyCases(cases []*model.Case, last bool) jen.Code {
	at := f.Here().Below(*cases[0].Path)
	init, conds := f.caseConds(cases[0])
	body := f.openCase(cases[0], at)
	if len(cases) > 1 {
		name := func(c *model.Case) string { return string(c.Any.Desc.FullName()) }
		clauses := slice.Map(cases, func(c *model.Case) jen.Code { return f.Src("case $:\n$", jen.Lit(name(c)), f.openCase(c, at)) })
		found := f.anyName(jen.Id("x"), slices.ContainsFunc(cases, func(c *model.Case) bool { return c.Typed }))
		other := f.Violation(at, jen.Id("name"), "must be one of "+strings.Join(slice.Map(cases, name), ", "))
		body = []jen.Code{f.Src("switch name := $; name {\n$\ndefault:\n$\n}", found, clauses, other)}
	}
	if !last {
		body = append(body, f.Src("return nil"))
	}
	return f.If(init, f.And(conds...), body...)
}

// anyName is the name of the message in the Any x or, where that may be typed, of the
// one that a TypedStruct in it stands for.
func (f *Func) anyName(x jen.Code, typed bool) *jen.Statement {
	if typed {
		return f.Src("convert.TypedName(dc, $)", x)
	}
	return f.Src("string($.MessageName())", x)
}

// openCase writes the code that opens the Any x for a case.
func (f *Func) openCase(c *model.Case, at Place) []jen.Code {
	pre, value := f.decoded(c.Struct.Name, c.Struct.Side, jen.Id("y"), at)
	return f.open(c.Any, c.Typed, at, jen.Id("x"), jen.Id("y"), append(pre, f.Src("return $", value)))
}
