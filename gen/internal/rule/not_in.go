package rule

import (
	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
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
		Build:    func(a *model.RuleArgs) model.Rule { return in{literals(a, "not_in"), true} },
	}
}
