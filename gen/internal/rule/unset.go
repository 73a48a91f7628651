package rule

import (
	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// Unset is the rule that there is no value.
func (kinds) Unset() model.RuleKind {
	return model.RuleKind{
		Keys:     one(descriptor.KindTrue, "unset", "There must be no value."),
		Examples: example("{at: part, unset: true}", "must not be set"),
		Build:    func(*model.RuleArgs) model.Rule { return presence{false} },
	}
}
