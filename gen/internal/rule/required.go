package rule

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Required is the rule that there is a value.
func (kinds) Required() model.RuleKind {
	return model.RuleKind{
		Keys:     one(descriptor.KindTrue, "required", "There must be a value."),
		Examples: example("{at: text, required: true}", "must be set"),
		GoFields: true,
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.Go == nil || a.Go.Last().CanBeEmpty(), "")
			return required{}
		},
	}
}

type required struct{}

// Reach implements [model.Rule].
func (required) Reach() model.Reach { return model.ReachField }

// Wording implements [model.Rule].
func (required) Wording() string { return "must be set" }

// Code implements [emit.Coder].
func (required) Code(f *emit.Func, m string, c *model.Check, conds []jen.Code) []jen.Code {
	var shown jen.Code
	if c.Path.Class() == model.String && !c.Path.Presence() && !c.Path.ToList() {
		shown = jen.Lit("")
	}
	return presence(f, m, c, conds, false, shown)
}

// presence checks whether there is a value.
func presence(f *emit.Func, m string, c *model.Check, conds []jen.Code, present bool, shown jen.Code) []jen.Code {
	broken := f.Presence(m, c.Path, present)
	return []jen.Code{f.If(nil, f.And(append(conds, broken)...), f.Violation(f.Here().Below(c.Path), shown, emit.RuleText(c)))}
}

// GoCode implements [emit.GoCoder].
func (required) GoCode(f *emit.Func, c *model.Check) []jen.Code {
	last := c.Go.Last()
	var shown jen.Code
	if last.Class() == model.String && !last.List && !last.IsMap() {
		shown = jen.Lit("")
	}
	return f.GoEach(jen.Id("u"), c.Go.Steps, f.Here(), false, func(x *jen.Statement, at emit.Place) []jen.Code {
		return []jen.Code{f.If(nil, f.GoEmpty(last, x), f.Violation(at, shown, emit.RuleText(c)))}
	})
}

// Present implements [schema.Presence].
func (required) Present() bool { return true }
