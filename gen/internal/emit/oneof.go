package emit

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// decodeOneof writes the function that finds the case that applies.
func (e *emitter) decodeOneof(o *model.Oneof) jen.Code {
	f := e.fn("decode"+o.Name, false)
	f.of = o.Message
	var body []jen.Code
	always := false
	for i, c := range o.Cases {
		switch {
		case c.Any != nil && firstOfAny(o, i):
			body = append(body, f.anyCases(sameAny(o, c), lastOfAny(o, i))...)
		case c.Any != nil:
		default:
			code := f.caseBody(c)
			always = len(code.conds) == 0
			body = append(body, code.statements()...)
		}
	}
	if !always {
		body = append(body, jen.Return(jen.Nil()))
	}
	u := f.done()
	return jen.Add(comment(f.name + " returns the case that applies, or nil if none applies.")).Line().
		Func().Id(f.name).Params(f.params(u, "m", f.view(o.Message))...).Id(o.Name).Block(body...)
}

// guarded are statements under conditions; init declares what these use.
type guarded struct {
	init  jen.Code
	conds []jen.Code
	body  []jen.Code
}

func (g guarded) statements() []jen.Code {
	switch {
	case g.init != nil:
		return []jen.Code{jen.If(g.init, and(g.conds...)).Block(g.body...)}
	case len(g.conds) > 0:
		return []jen.Code{jen.If(and(g.conds...)).Block(g.body...)}
	}
	return g.body
}

// caseBody writes the code for the value of a case.
func (f *fn) caseBody(c *model.Case) guarded {
	m := jen.Id("m")
	var g guarded
	x, at := m, f.here()
	if c.Path != nil && c.Path.Message() != nil {
		x, at = jen.Id("x"), f.here().below(*c.Path)
		g.init = jen.Id("x").Op(":=").Add(f.get(m, *c.Path))
		g.conds = append(g.conds, jen.Id("x").Op("!=").Nil())
		if !defaultCond(c) {
			g.conds = append(g.conds, f.conds(m, c.When)...)
		}
	} else {
		g.conds = f.conds(m, c.When)
	}
	if c.Hook != nil {
		g.init, g.conds = nil, f.conds(m, c.When)
		g.body = []jen.Code{
			jen.List(jen.Id("x"), jen.Id("err")).Op(":=").Add(f.hookCall(*c.Hook, nil)),
			jen.If(jen.Id("err").Op("!=").Nil()).Block(
				f.v().Dot("AddError").Call(f.path(f.hookPlace(*c.Hook)), jen.Id("err")),
				jen.Return(jen.Nil()),
			),
			jen.Return(jen.Id("x")),
		}
		return g
	}
	var value jen.Code
	g.body, value = f.call("decode"+c.Struct.Name, at, x)
	g.body = append(g.body, jen.Return(value))
	return g
}

// defaultCond reports whether the case's condition is that its message is there.
func defaultCond(c *model.Case) bool {
	w := c.When
	return w.Context.Empty() && len(w.Tests) == 1 && w.Tests[0].Kind == model.Present && w.Tests[0].Path.String() == c.Path.String()
}

// firstOfAny reports whether no case before i opens the same Any.
func firstOfAny(o *model.Oneof, i int) bool { return sameAny(o, o.Cases[i])[0] == o.Cases[i] }

// lastOfAny reports whether all cases after i open the same Any.
func lastOfAny(o *model.Oneof, i int) bool {
	same := sameAny(o, o.Cases[i])
	for _, c := range o.Cases[i:] {
		if !slices.Contains(same, c) {
			return false
		}
	}
	return true
}

// sameAny are the cases that open the same Any under the same condition.
func sameAny(o *model.Oneof, c *model.Case) []*model.Case {
	var out []*model.Case
	for _, other := range o.Cases {
		if other.Any != nil && other.Path.String() == c.Path.String() && model.SameCond(other.When, c.When) {
			out = append(out, other)
		}
	}
	return out
}

// anyCases writes the cases of one Any: another message than theirs is a
// violation, and no later case is tried.
func (f *fn) anyCases(cases []*model.Case, last bool) []jen.Code {
	m, path := jen.Id("m"), *cases[0].Path
	at := f.here().below(path)
	conds := []jen.Code{jen.Id("x").Op("!=").Nil()}
	if !defaultCond(cases[0]) {
		conds = append(conds, f.conds(m, cases[0].When)...)
	}
	var body []jen.Code
	if len(cases) == 1 {
		body = f.openCase(cases[0], at)
	} else {
		names := make([]string, len(cases))
		clauses := make([]jen.Code, len(cases)+1)
		for i, c := range cases {
			names[i] = string(c.Any.Desc.FullName())
			clauses[i] = jen.Case(jen.Lit(names[i])).Block(f.openCase(c, at)...)
		}
		found := f.anyName(jen.Id("x"), slices.ContainsFunc(cases, func(c *model.Case) bool { return c.Typed }))
		clauses[len(cases)] = jen.Default().Block(f.violation(at, jen.Id("name"), "must be one of "+strings.Join(names, ", ")))
		body = []jen.Code{jen.Switch(jen.Id("name").Op(":=").Add(found), jen.Id("name")).Block(clauses...)}
	}
	if !last {
		body = append(body, jen.Return(jen.Nil()))
	}
	return guarded{init: jen.Id("x").Op(":=").Add(f.get(m, path)), conds: conds, body: body}.statements()
}

// anyName is the name of the message in the Any x or, where that may be typed, of the
// one that a TypedStruct in it stands for.
func (f *fn) anyName(x jen.Code, typed bool) *jen.Statement {
	if typed {
		return f.convert("TypedName").Call(f.dc(), x)
	}
	return jen.String().Call(jen.Add(x).Dot("MessageName").Call())
}

// openCase writes the code that opens the Any x for a case.
func (f *fn) openCase(c *model.Case, at place) []jen.Code {
	pre, value := f.call("decode"+c.Struct.Name, at, jen.Id("y"))
	return f.open(c.Any, c.Typed, at, jen.Id("x"), "y", append(pre, jen.Return(value)))
}
