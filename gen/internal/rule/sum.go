package rule

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Sum is the rule that numbers of the elements of a list add up to a sum within bounds.
func (kinds) Sum() model.RuleKind {
	return model.RuleKind{
		Keys: []descriptor.Key{
			{Name: "sum", Kind: descriptor.KindPath, Group: "kind", Doc: "The sum of this path over all elements must be within `min` and `max`."},
			{Name: "default", Kind: descriptor.KindLiteral, With: []string{"sum"}, Doc: "The value of an absent wrapper in the sum; 0 unless it is given."},
			{Name: "group_by", Kind: descriptor.KindPath, With: []string{"sum"}, Doc: "Elements that are equal in this path have a sum of their own."},
		},
		Takes: []string{"min", "max"},
		Examples: []model.RuleExample{
			{Rule: "{at: parts, sum: size, max: 100}", Wording: "sum of size must be at most 100"},
			{Rule: "{at: parts, sum: weight, default: 1, group_by: group, max: 3}", Wording: "sum of weight for equal group must be at most 3"},
		},
		Build: buildSum,
	}
}

func buildSum(a *model.RuleArgs) model.Rule {
	least, absent := a.Arg("min"), a.Arg("default")
	a.RequireRule(least.Given() || a.Arg("max").Given(), diag.RuleKind, "the sum has neither `min` nor `max`")
	a.Require(!least.Given() || !a.Arg("group_by").Given(), least, diag.RuleKind, "sums of groups can have a `max` only")
	a.Fits(a.Path.ToList() && a.Path.Message() != nil, "a repeated message")
	lo, hi := a.Bounds(model.Uint64)
	of := a.Paths("sum", func(p model.Path) bool { return p.Class() == model.Uint32 && !p.ToList() }, "a uint32")[0]
	a.Require(!absent.Given() || of.Wrapper(), absent, diag.RuleShape, "the message does not distinguish the absence of %s from 0, so its sum has no default", of)
	r := sum{bounds: bounds{lo: lo, hi: hi}, of: of, absent: a.Literal("default", model.Uint32)}
	if groups := a.Paths("group_by", model.IsKey, "a scalar"); len(groups) > 0 {
		r.group = &groups[0]
	}
	return r
}

type sum struct {
	bounds bounds
	of     model.Path     // from an element
	absent *model.Literal // the value of an absent wrapper; nil: 0
	group  *model.Path    // from an element; nil: one sum
}

// Reach implements [model.Rule].
func (sum) Reach() model.Reach { return model.ReachField }

// Wording implements [model.Rule].
func (r sum) Wording() string {
	subject := "sum of " + r.of.String()
	if r.group != nil {
		subject += " for equal " + r.group.String()
	}
	return r.bounds.within(subject + " must be")
}

// Code implements [emit.Coder].
func (r sum) Code(f *emit.Func, c *model.Check, conds []jen.Code) []jen.Code {
	if r.group != nil {
		return f.When(conds, r.groups(f, c))
	}
	name := f.Variable("sum")
	loop := f.Each(c.Path, false, func(x *jen.Statement, _ emit.Place) []jen.Code {
		value := f.Get(x, r.of)
		if r.absent == nil {
			return []jen.Code{f.Src("$ += uint64($)", name, f.Scalar(value, r.of))}
		}
		add := f.Src("$ += $", name, f.Literal(*r.absent))
		if r.absent.Text == "1" {
			add = f.Src("$++", name)
		}
		return []jen.Code{f.Src("if w := $; w != nil {\n$ += uint64($)\n} else {\n$\n}", value, name, f.Scalar(jen.Id("w"), r.of), add)}
	})
	broken, shown := r.bounds.Broken(f, jen.Id(name))
	code := append([]jen.Code{f.Src("var $ uint64", name)}, loop...)
	return f.When(conds, append(code, f.If(nil, broken, f.Violation(f.Here().Below(c.Path), shown, emit.RuleText(c)))))
}

// groups checks a sum for each value of a key.
func (r sum) groups(f *emit.Func, c *model.Check) []jen.Code {
	sums := f.Variable("sums")
	loop := f.Each(c.Path, true, func(x *jen.Statement, at emit.Place) []jen.Code {
		value := f.Scalar(f.Get(x, r.of), r.of)
		if r.absent != nil {
			value = f.Src("convert.Or($, $)", f.Get(x, r.of), f.Literal(*r.absent))
		}
		group := f.Scalar(f.Get(x, *r.group), *r.group)
		broken, shown := r.bounds.Broken(f, jen.Id("sum"))
		return []jen.Code{f.If(f.Src("sum := $.Add($, $)", sums, group, value), broken, f.Violation(at, shown, emit.RuleText(c)))}
	})
	return append([]jen.Code{f.Src("var $ convert.Sums[$]", sums, f.ScalarType(r.group.Leaf()))}, loop...)
}
