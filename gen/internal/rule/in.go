package rule

import (
	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/schema"
)

// In is the rule that a value is one of some.
func (kinds) In() model.RuleKind {
	return model.RuleKind{
		Keys: one(descriptor.KindLiterals, "in", "The value must be one of these. It is a bool, number, string or enum; of a list, each element is checked."),
		Examples: []model.RuleExample{
			{Rule: "{at: text, in: [a, b]}", Wording: "must be one of \"a\", \"b\""},
			{Rule: "{at: color, in: COLOR_RED}", Wording: "must be COLOR_RED"},
		},
		GoFields: true,
		Build: func(a *model.RuleArgs) (model.Rule, bool) {
			values, ok := literals(a, "in")
			return in{values}, ok
		},
	}
}

// literals returns the values of a key, if the rule is about a scalar.
func literals(a *model.RuleArgs, key string) ([]model.Literal, bool) {
	if !a.Fits(a.Class().Key(), "a bool, number, string or enum") {
		return nil, false
	}
	return a.Literals(key)
}

type in struct{ values []model.Literal }

// Reach implements [model.Rule].
func (in) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r in) Wording() string { return emit.OneOf(texts(r.values)) }

// Broken implements [emit.Condition].
func (r in) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	other := make([]jen.Code, len(r.values))
	for i, l := range r.values {
		other[i] = f.Is(x, l, false)
	}
	return f.And(other...), x
}

// Schema implements [schema.Value].
func (r in) Schema(model.Path) (valid map[string]any, zero bool) {
	values, zero, ok := schema.JSON(r.values)
	if !ok {
		return nil, false
	}
	return map[string]any{"enum": values}, zero
}
