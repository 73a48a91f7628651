package rule

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// Compared is the rule that a number or duration is at most, or less than, that of another field.
func (kinds) Compared() model.RuleKind {
	return model.RuleKind{
		Keys: []descriptor.Key{
			{Name: "at_most", Kind: descriptor.KindPath, Group: "kind", Doc: "The number or duration must be at most the one at this path, which starts at the message that has the field. Without one of them, the rule holds."},
			{Name: "less_than", Kind: descriptor.KindPath, Group: "kind", Doc: "The number or duration must be less than the one at this path, as for `at_most`."},
		},
		Examples: []model.RuleExample{
			{Rule: "{at: count, at_most: maybe}", Wording: "must be at most maybe"},
			{Rule: "{at: count, less_than: maybe}", Wording: "must be less than maybe"},
		},
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.IsNumber() && !a.Path.ToList(), "a single number or Duration")
			r := compared{key: "at_most", text: "must be at most ", broken: ">"}
			if a.Arg("less_than").Given() {
				r = compared{key: "less_than", text: "must be less than ", broken: ">="}
			}
			r.other = a.Siblings(r.key, func(p model.Path) bool { return p.Class() == a.Class() && !p.ToList() }, "of the same type")[0]
			return r
		},
	}
}

type compared struct {
	key, text, broken string     // broken is the operator of a violation
	other             model.Path // from the message that has the field
}

// Reach implements [model.Rule].
func (compared) Reach() model.Reach { return model.ReachField }

// Wording implements [model.Rule].
func (r compared) Wording() string { return r.text + r.other.String() }

// Code implements [emit.Coder].
func (r compared) Code(f *emit.Func, c *model.Check, conds []jen.Code) []jen.Code {
	other := c.Path.Parent()
	other.Steps = slices.Concat(other.Steps, r.other.Steps)
	optional := slice.Filter([]model.Path{c.Path, other}, model.Path.Presence)
	conds = append(conds, slice.Map(optional, func(p model.Path) jen.Code { return f.Presence("m", p, true) })...)
	init := f.Src("x, y := $, $", f.Scalar(f.Get("m", c.Path), c.Path), f.Scalar(f.Get("m", other), other))
	cond := f.And(append(conds, f.Src("x $ y", r.broken))...)
	return []jen.Code{f.If(init, cond, f.Violation(f.Here().Below(c.Path), jen.Id("x"), emit.RuleText(c)))}
}
