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
	conds = append(conds, Texts(when.Tests)...)
	if len(conds) > 0 {
		text += " when " + strings.Join(conds, " and ")
	}
	if why != "" {
		text += " (" + why + ")"
	}
	return text
}

// Texts are paths or tests as they are written.
func Texts[T fmt.Stringer](list []T) []string {
	return slice.Map(list, T.String)
}
