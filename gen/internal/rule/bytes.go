package rule

import "github.com/xdsforge/xdsforge/gen/internal/model"

// Bytes is the rule that a text has a number of bytes within bounds. That of a list is about each element, unlike
// the rule of [kinds.Length].
func (kinds) Bytes() model.RuleKind {
	return sizes("bytes", elementByte, []model.RuleExample{
		{Rule: "{at: tags, min_bytes: 2, max_bytes: 10}", Wording: "must have between 2 and 10 bytes"},
		{Rule: "{at: text, max_bytes: 1}", Wording: "must have at most 1 byte"},
	})
}
