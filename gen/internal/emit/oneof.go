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
		same := sameAny(o, c)
		if c.Any != nil && same[0] != c {
			continue // the first case of an Any has the code of the others
		}
		init, conds := f.caseConds(c)
		value := f.caseValue(c, same)
		if c.Any != nil && len(same) < len(o.Cases[i:]) {
			value = append(value, f.Src("return nil"))
		}
		if always = len(conds) == 0; !always {
			value = []jen.Code{f.If(init, f.And(conds...), value...)}
		}
		body = append(body, value...)
	}
	if !always {
		body = append(body, f.Src("return nil"))
	}
	return f.decodes("decode"+o.Name, "returns the case that applies, or nil if none applies.", "", "", f.view(o.Message), o.Name, body)
}

// ofMessage reports whether a case is made of an inner message.
func ofMessage(c *model.Case) bool {
	return c.Path != nil && c.Path.Message() != nil && c.Hook == nil
}

// caseConds are the conditions of a case. init declares the message of the case as x. If the case has none, but all tests
// are about fields of one inner message, init declares that one.
func (f *Func) caseConds(c *model.Case) (init jen.Code, conds []jen.Code) {
	if ofMessage(c) {
		conds = []jen.Code{f.Src("x != nil")}
		present := model.Cond{Tests: []model.Test{{Kind: model.Present, Path: *c.Path}}}
		if !model.SameCond(c.When, present) {
			conds = append(conds, f.conds("m", c.When)...)
		}
		return f.Src("x := $", f.Get("m", *c.Path)), conds
	}
	if tests := c.When.Tests; len(tests) > 1 && len(tests[0].Path.Steps) > 1 {
		at := tests[0].Path.Parent()
		apart := func(t model.Test) bool {
			rest, ok := t.Path.Behind(at)
			return !ok || f.ReadsStruct(rest)
		}
		if !slices.ContainsFunc(tests, apart) {
			return f.Src("x := $", f.Get("m", at)), f.CondsAt("m", c.When, "x", at)
		}
	}
	return nil, f.conds("m", c.When)
}

// sameAny are the cases that open the same Any under the same condition.
func sameAny(o *model.Oneof, c *model.Case) []*model.Case {
	return slice.Filter(o.Cases, func(other *model.Case) bool {
		return c.Any != nil && other.Any != nil && other.Path.String() == c.Path.String() && model.SameCond(other.When, c.When)
	})
}

// caseValue returns the value of a case. same are the cases of its Any, if it has one: another message than theirs is
// a violation, and no later case is tried.
func (f *Func) caseValue(c *model.Case, same []*model.Case) []jen.Code {
	x, at := jen.Id("m"), f.Here()
	if ofMessage(c) {
		x, at = jen.Id("x"), at.Below(*c.Path)
	}
	switch {
	case c.Hook != nil:
		return []jen.Code{f.Src("x, err := $\nif err != nil {\nv.AddError($, err)\nreturn nil\n}\nreturn x",
			f.hookCall(*c.Hook, ""), f.path(f.hookPlace(*c.Hook)))}
	case len(same) > 1:
		name := func(c *model.Case) string { return string(c.Any.Desc.FullName()) }
		clauses := slice.Map(same, func(c *model.Case) jen.Code { return f.Src("case $:\n$", jen.Lit(name(c)), f.openCase(c, at)) })
		found := f.anyName(x, slices.ContainsFunc(same, func(c *model.Case) bool { return c.Typed }))
		other := f.Violation(at, jen.Id("name"), "must be one of "+strings.Join(slice.Map(same, name), ", "))
		return []jen.Code{f.Src("switch name := $; name {\n$\ndefault:\n$\n}", found, clauses, other)}
	case c.Any != nil:
		return f.openCase(c, at)
	}
	return f.returned(c, x, at)
}

// returned returns the struct of a case, which is decoded from x.
func (f *Func) returned(c *model.Case, x jen.Code, at Place) []jen.Code {
	pre, call := f.decoded(c.Struct.Name, c.Struct.Side, x, at)
	return append(pre, f.Src("return $", call))
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
	y := jen.Id("y")
	return f.open(c.Any, c.Typed, at, jen.Id("x"), y, f.returned(c, y, at))
}
