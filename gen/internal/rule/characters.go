package rule

import (
	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Characters is the rule that a text has a number of characters within bounds.
func (kinds) Characters() model.RuleKind {
	return sizes("chars", character, []model.RuleExample{
		{Rule: "{at: text, min_chars: 2, max_chars: 10}", Wording: "must have between 2 and 10 characters"},
		{Rule: "{at: tags, max_chars: 1}", Wording: "must have at most 1 character"},
	})
}

// sizes is a kind of rule that a text has a number of units within bounds. The keys end with a name.
func sizes(name string, u unit, examples []model.RuleExample) model.RuleKind {
	return model.RuleKind{
		Keys: []descriptor.Key{
			{Name: "min_" + name, Kind: descriptor.KindSize, Doc: "The text must have at least as many " + u.name + "s. Of a list, each element is checked."},
			{Name: "max_" + name, Kind: descriptor.KindSize, Doc: "The text must have at most as many " + u.name + "s. Of a list, each element is checked."},
		},
		Examples: examples,
		GoFields: true,
		Build: func(a *model.RuleArgs) model.Rule {
			a.Fits(a.Class() == model.String, "a string")
			return lengthOf(a, name, u)
		},
	}
}
