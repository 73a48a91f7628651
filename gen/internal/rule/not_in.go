package rule

import "github.com/xdsforge/xdsforge/gen/internal/model"

// NotIn is the rule that a value is none of some.
func (kinds) NotIn() model.RuleKind {
	return choice("not_in", "The value must be none of these.", true, []model.RuleExample{
		{Rule: "{at: count, not_in: [7, 13]}", Wording: "must be none of 7, 13"},
		{Rule: "{at: Text, not_in: \"\"}", Wording: "must not be \"\""},
	})
}
