package schema

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// mostSample is the number of bytes of a text for a regular expression, about.
const mostSample = 2000

// matching are texts that match a regular expression. If it is a literal, there are texts with it at their
// start and at their end.
func matching(pattern string) []any {
	if re, err := regexp.Compile(strings.Trim(pattern, "^$")); err == nil { // fails for an escaped $
		if part, complete := re.LiteralPrefix(); complete {
			return []any{part, part + "a", "a" + part}
		}
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil
	}
	var out []any
	for more := range 2 {
		if text := sample(parsed, more); regexp.MustCompile(pattern).MatchString(text) && !slices.Contains(out, any(text)) {
			out = append(out, text)
		}
	}
	return out
}

// sample is a text for a regular expression. Parts that it may repeat without a limit are there the given
// number of times more than they must be.
func sample(re *syntax.Regexp, more int) string {
	inner := func(n int) string {
		text := sample(re.Sub[0], more)
		return strings.Repeat(text, min(n, mostSample/max(len(text), 1)))
	}
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return string(plain(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpAlternate:
		return inner(1)
	case syntax.OpStar:
		return inner(more)
	case syntax.OpPlus:
		return inner(1 + more)
	case syntax.OpRepeat:
		if re.Max < 0 {
			return inner(re.Min + more)
		}
		return inner(re.Min)
	case syntax.OpConcat:
		var out strings.Builder
		for _, part := range re.Sub {
			out.WriteString(sample(part, more))
		}
		return out.String()
	default: // OpQuest, and those without text
		return ""
	}
}

// plain is a letter or digit in the ranges of a class if there is one.
func plain(ranges []rune) rune {
	const wanted = "aA0-_.:/ "
	for _, r := range wanted {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= r && r <= ranges[i+1] {
				return r
			}
		}
	}
	return slices.Concat(ranges, []rune{'a'})[0]
}
