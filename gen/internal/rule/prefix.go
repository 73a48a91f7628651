package rule

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Prefix is the rule that a text starts with one of some.
func (kinds) Prefix() model.RuleKind {
	return model.RuleKind{
		Keys: one(descriptor.KindLiterals, "prefix", "The text must start with one of these. Of a list, each element is checked."),
		Examples: []model.RuleExample{
			{Rule: "{at: text, prefix: [a, b]}", Wording: "must start with \"a\" or \"b\""},
		},
		GoFields: true,
		Build: func(a *model.RuleArgs) (model.Rule, bool) {
			values, ok := textLiterals(a, "prefix")
			return prefix{values}, ok
		},
	}
}

type prefix struct{ values []model.Literal }

// Reach implements [model.Rule].
func (prefix) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r prefix) Wording() string { return alternatives("must start with ", texts(r.values)) }

// Broken implements [emit.Condition].
func (r prefix) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	other := make([]jen.Code, len(r.values))
	for i, l := range r.values {
		other[i] = f.Src("!strings.HasPrefix($, $)", x, f.Literal(l))
	}
	return f.And(other...), x
}

// Schema implements [schema.Value].
func (r prefix) Schema(model.Path) (valid map[string]any, zero bool) {
	return patterns(r.values, func(text string) string { return "^" + text })
}
