package rule

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// NotIn is the rule that a value is none of some.
func (kinds) NotIn() model.RuleKind {
	return model.RuleKind{
		Keys: one(descriptor.KindLiterals, "not_in", "The value must be none of these. It is a bool, number, string or enum; of a list, each element is checked."),
		Examples: []model.RuleExample{
			{Rule: "{at: count, not_in: [7, 13]}", Wording: "must be none of 7, 13"},
			{Rule: "{at: Text, not_in: \"\"}", Wording: "must not be \"\""},
		},
		GoFields: true,
		Build: func(a *model.RuleArgs) (model.Rule, bool) {
			values, ok := literals(a, "not_in")
			return notIn{values}, ok
		},
	}
}

type notIn struct{ values []model.Literal }

// Reach implements [model.Rule].
func (notIn) Reach() model.Reach { return model.ReachElement }

// Wording implements [model.Rule].
func (r notIn) Wording() string {
	if len(r.values) == 1 {
		return "must not be " + r.values[0].Text
	}
	return "must be none of " + strings.Join(texts(r.values), ", ")
}

// Broken implements [emit.Condition].
func (r notIn) Broken(f *emit.Func, x *jen.Statement) (broken, shown jen.Code) {
	equal := make([]jen.Code, len(r.values))
	for i, l := range r.values {
		equal[i] = f.Is(x, l, true)
	}
	return f.Or(equal...), x
}

// Schema implements [schema.Value].
func (r notIn) Schema(p model.Path) (valid map[string]any, zero bool) {
	valid, zero = in(r).Schema(p)
	if valid == nil {
		return nil, false
	}
	return map[string]any{"not": valid}, !zero
}
