package rule

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Contains is the rule that a text contains one of some.
func (kinds) Contains() model.RuleKind {
	return model.RuleKind{
		Keys: one(descriptor.KindLiterals, "contains", "The text must contain one of these. Of a list, each element is checked."),
		Examples: []model.RuleExample{
			{Rule: "{at: text, contains: \"@\"}", Wording: "must contain \"@\""},
		},
		GoFields: true,
		Build: func(a *model.RuleArgs) (model.Rule, bool) {
			values, ok := textLiterals(a, "contains")
			return contains{values}, ok
		},
	}
}

type contains struct{ values []model.Literal }

// Reach implements [model.Rule].
func (contains) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r contains) Wording() string { return alternatives("must contain ", texts(r.values)) }

// Broken implements [emit.Condition].
func (r contains) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	other := make([]jen.Code, len(r.values))
	for i, l := range r.values {
		other[i] = f.Src("!strings.Contains($, $)", x, f.Literal(l))
	}
	return f.And(other...), x
}

// Schema implements [schema.Value].
func (r contains) Schema(model.Path) (valid map[string]any, zero bool) {
	return patterns(r.values, func(text string) string { return text })
}
