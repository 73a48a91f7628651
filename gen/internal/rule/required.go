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
			return presence{true}
		},
	}
}

// presence is the rule that there is a value, or that there is none.
type presence struct{ present bool }

// Reach implements [model.Rule].
func (presence) Reach() model.Reach { return model.ReachField }

// Wording implements [model.Rule].
func (r presence) Wording() string {
	if r.present {
		return "must be set"
	}
	return "must not be set"
}

// Code implements [emit.Coder].
func (r presence) Code(f *emit.Func, c *model.Check, conds []jen.Code) []jen.Code {
	var shown jen.Code
	switch p, class := c.Path, c.Path.Class(); {
	case p.ToList():
	case r.present && class == model.String && !p.Presence():
		shown = jen.Lit("")
	case !r.present && class.Scalar() && class != model.Bytes && !p.Wrapper():
		shown = f.Get("m", p)
	}
	broken := f.Presence("m", c.Path, !r.present)
	return []jen.Code{f.If(nil, f.And(append(conds, broken)...), f.Violation(f.Here().Below(c.Path), shown, emit.RuleText(c)))}
}

// GoCode implements [emit.GoCoder] for a value that must be there.
func (presence) GoCode(f *emit.Func, c *model.Check) []jen.Code {
	last := c.Go.Last()
	var shown jen.Code
	if last.Class() == model.String && !last.List && !last.IsMap() {
		shown = jen.Lit("")
	}
	// The rule `unset` has no Go fields, so the value must be there.
	return f.GoEach(jen.Id("u"), c.Go.Steps, f.Here(), false, func(x *jen.Statement, at emit.Place) []jen.Code {
		return []jen.Code{f.If(nil, f.GoEmpty(last, x), f.Violation(at, shown, emit.RuleText(c)))}
	})
}

// Present implements [schema.Presence].
func (r presence) Present() bool { return r.present }
