package rule

import "github.com/xdsforge/xdsforge/gen/internal/model"

// Contains is the rule that a text contains one of some.
func (kinds) Contains() model.RuleKind {
	return parts{
		wording: "must contain ", found: "strings.Contains($, $)",
		pattern: func(text string) string { return text },
	}.kind("contains", "The text must contain one of these.",
		"{at: text, contains: \"@\"}", "must contain \"@\"")
}
