package rule

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Suffix is the rule that a text ends with one of some.
func (kinds) Suffix() model.RuleKind {
	return model.RuleKind{
		Keys: one(descriptor.KindLiterals, "suffix", "The text must end with one of these. Of a list, each element is checked."),
		Examples: []model.RuleExample{
			{Rule: "{at: text, suffix: [.com, .org]}", Wording: "must end with \".com\" or \".org\""},
		},
		GoFields: true,
		Build: func(a *model.RuleArgs) (model.Rule, bool) {
			values, ok := textLiterals(a, "suffix")
			return suffix{values}, ok
		},
	}
}

type suffix struct{ values []model.Literal }

// Reach implements [model.Rule].
func (suffix) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r suffix) Wording() string { return alternatives("must end with ", texts(r.values)) }

// Broken implements [emit.Condition].
func (r suffix) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	other := make([]jen.Code, len(r.values))
	for i, l := range r.values {
		other[i] = f.Src("!strings.HasSuffix($, $)", x, f.Literal(l))
	}
	return f.And(other...), x
}

// Schema implements [schema.Value].
func (r suffix) Schema(model.Path) (valid map[string]any, zero bool) {
	return patterns(r.values, func(text string) string { return text + "$" })
}
