package rule

import (
	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Characters is the rule that a text has a number of characters within bounds.
func (kinds) Characters() model.RuleKind {
	return model.RuleKind{
		Keys: []descriptor.Key{
			{Name: "min_chars", Kind: descriptor.KindSize, Doc: "The text must have at least as many characters. Of a list, each element is checked."},
			{Name: "max_chars", Kind: descriptor.KindSize, Doc: "The text must have at most as many characters. Of a list, each element is checked."},
		},
		Examples: []model.RuleExample{
			{Rule: "{at: text, min_chars: 2, max_chars: 10}", Wording: "must have between 2 and 10 characters"},
			{Rule: "{at: tags, max_chars: 1}", Wording: "must have at most 1 character"},
		},
		GoFields: true,
		Build: func(a *model.RuleArgs) (model.Rule, bool) {
			if !a.Fits(a.Class() == model.String, "a string") {
				return nil, false
			}
			r := length{a.Size("min_chars", 0), a.Size("max_chars", -1), character}
			if at := a.Arg("min_chars"); at.Given() && (r.min == 0 || r.max >= 0 && r.min > r.max) {
				a.Report(at, diag.BadValue, "min_chars = %d; must be above 0 and at most max_chars", r.min)
				return nil, false
			}
			return r, true
		},
	}
}
