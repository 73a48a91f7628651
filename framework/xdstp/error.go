package xdstp

import (
	"strconv"
	"unicode/utf8"
)

// Error is the reason why a string is not a name or locator.
type Error struct {
	// Part is the invalid part of the name: "name", "authority", "type", "id", "parameter",
	// "directive", "entry" or "alt". It is "alt " and a part for a problem inside an alternative.
	Part string
	// Value is that part as given, shortened if it is long.
	Value string
	// Rule is the rule that the part breaks.
	Rule string
}

// Error returns "xdstp: part = value; rule".
func (e *Error) Error() string {
	return "xdstp: " + e.Part + " = " + strconv.Quote(e.Value) + "; " + e.Rule
}

// The rules that several parts share.
const (
	ruleEscape  = `"%" must be followed by two hexadecimal digits`
	ruleUTF8    = "must be UTF-8, also after percent-decoding"
	ruleControl = "must not contain control characters, also not as escapes"
)

func failure(part, value, rule string) *Error {
	return &Error{Part: part, Value: shorten(value), Rule: rule}
}

// shorten cuts s to a length that fits into a log line, between two runes.
func shorten(s string) string {
	const limit = 96
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
