package rule

import "github.com/xdsforge/xdsforge/gen/internal/model"

// NotContains is the rule that a text contains none of some.
func (kinds) NotContains() model.RuleKind {
	return parts{
		wording: "must not contain ", found: "strings.Contains($, $)", alternatives: alternatives{not: true},
		pattern: func(text string) string { return text },
	}.kind("not_contains", "The text must contain none of these.",
		"{at: text, not_contains: [\"#\", \"?\"]}", "must not contain \"#\" or \"?\"")
}
