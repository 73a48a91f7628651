package emit

import (
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// RuleText is the whole text of a check's violation: "wording when condition (why)".
func RuleText(c *model.Check) string {
	text := c.Rule.Wording()
	if c.Path.Last().Key() {
		text = "key " + text
	}
	return withReason(text, c.Stated, c.Why)
}

// OneOf is the wording that a value must be one of some.
func OneOf(values []string) string {
	if len(values) == 1 {
		return "must be " + values[0]
	}
	return "must be one of " + strings.Join(values, ", ")
}

// withReason appends the condition and the source of a rule. It omits the profile, which
// the program chooses and which does not help the author of the resource.
func withReason(text string, when model.Cond, why string) string {
	var conds []string
	if when.Xdstp != nil {
		kind := "xdstp"
		if !*when.Xdstp {
			kind = "not xdstp"
		}
		conds = append(conds, "the resource's name is "+kind)
	}
	for _, t := range when.Tests {
		switch t.Kind {
		case model.Present:
			conds = append(conds, t.Path.String()+" is set")
		case model.Absent:
			conds = append(conds, t.Path.String()+" is not set")
		case model.Equals:
			conds = append(conds, t.Path.String()+" is "+t.Value.Text)
		}
	}
	if len(conds) > 0 {
		text += " when " + strings.Join(conds, " and ")
	}
	if why != "" {
		text += " (" + why + ")"
	}
	return text
}

// PathTexts are paths as they are written.
func PathTexts[T fmt.Stringer](paths []T) []string {
	return slice.Map(paths, T.String)
}
