package rule

import (
	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Between is the rule that a number or duration is between two values, which it must not be.
func (kinds) Between() model.RuleKind {
	return model.RuleKind{
		Keys: []descriptor.Key{
			{Name: "above", Kind: descriptor.KindLiteral, Doc: "The number or duration must be greater than this. Of a list, each element is checked."},
			{Name: "below", Kind: descriptor.KindLiteral, Doc: "The number or duration must be less than this. Of a list, each element is checked."},
		},
		Examples: []model.RuleExample{
			{Rule: "{at: precise, above: 0, below: 1}", Wording: "must be above 0 and below 1"},
			{Rule: "{at: timeout, above: 0s}", Wording: "must be above 0s"},
		},
		GoFields: true,
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.IsNumber(), "a number or Duration")
			return bounds{a.Literal("above", a.Class()), a.Literal("below", a.Class()), true}
		},
	}
}
