package rule

import "github.com/xdsforge/xdsforge/gen/internal/model"

// Suffix is the rule that a text ends with one of some.
func (kinds) Suffix() model.RuleKind {
	return parts{
		wording: "must end with ", found: "strings.HasSuffix($, $)",
		pattern: func(text string) string { return text + "$" },
	}.kind("suffix", "The text must end with one of these.",
		"{at: text, suffix: [.com, .org]}", "must end with \".com\" or \".org\"")
}
