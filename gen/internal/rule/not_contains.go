package rule

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// NotContains is the rule that a text contains none of some.
func (kinds) NotContains() model.RuleKind {
	return model.RuleKind{
		Keys: one(descriptor.KindLiterals, "not_contains", "The text must contain none of these. Of a list, each element is checked."),
		Examples: []model.RuleExample{
			{Rule: "{at: text, not_contains: [\"#\", \"?\"]}", Wording: "must not contain \"#\" or \"?\""},
		},
		GoFields: true,
		Build: func(a *model.RuleArgs) (model.Rule, bool) {
			values, ok := textLiterals(a, "not_contains")
			return notContains{values}, ok
		},
	}
}

type notContains struct{ values []model.Literal }

// Reach implements [model.Rule].
func (notContains) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r notContains) Wording() string { return alternatives("must not contain ", texts(r.values)) }

// Broken implements [emit.Condition].
func (r notContains) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	found := make([]jen.Code, len(r.values))
	for i, l := range r.values {
		found[i] = f.Src("strings.Contains($, $)", x, f.Literal(l))
	}
	return f.Or(found...), x
}

// Schema implements [schema.Value].
func (r notContains) Schema(p model.Path) (valid map[string]any, zero bool) {
	valid, zero = contains(r).Schema(p)
	return map[string]any{"not": valid}, !zero
}
