package rule

import "github.com/xdsforge/xdsforge/gen/internal/model"

// Prefix is the rule that a text starts with one of some.
func (kinds) Prefix() model.RuleKind {
	return parts{
		wording: "must start with ", found: "strings.HasPrefix($, $)",
		pattern: func(text string) string { return "^" + text },
	}.kind("prefix", "The text must start with one of these.",
		"{at: text, prefix: [a, b]}", "must start with \"a\" or \"b\"")
}
