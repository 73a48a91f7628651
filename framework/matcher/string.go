package matcher

import (
	"regexp"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// Kind is the kind of comparison of a [String].
type Kind uint8

// The kinds.
const (
	Any      Kind = iota // matches everything
	Exact                // the whole text
	Prefix               // the start of the text
	Suffix               // the end of the text
	Contains             // a part of the text
	Regex                // the whole text, by a regular expression
)

// A String matches text (gRFC A63). The zero value matches everything.
type String struct {
	Kind Kind
	// Text is the text to compare with, or the regular expression as configured. With IgnoreCase it
	// is in lower case.
	Text string
	// IgnoreCase ignores the case of letters. It has no effect on regular expressions.
	IgnoreCase bool

	re *regexp.Regexp
}

// Match reports whether text matches. It allocates only if IgnoreCase is set and text has letters
// in upper case.
func (s *String) Match(text string) bool {
	if s.IgnoreCase && s.Kind != Regex {
		text = strings.ToLower(text)
	}
	switch s.Kind {
	case Exact:
		return text == s.Text
	case Prefix:
		return strings.HasPrefix(text, s.Text)
	case Suffix:
		return strings.HasSuffix(text, s.Text)
	case Contains:
		return strings.Contains(text, s.Text)
	case Regex:
		return s.matchRegex(text)
	default:
		return true
	}
}

// matchRegex compiles the expression of a literal that no decoder made. Such a literal matches
// nothing if its expression is invalid.
func (s *String) matchRegex(text string) bool {
	re := s.re
	if re == nil {
		var err error
		if re, err = Compile(nil, s.Text); err != nil {
			return false
		}
	}
	return re.MatchString(text)
}

// Equal reports whether both matchers have the same results.
func (s String) Equal(o String) bool {
	return s.Kind == o.Kind && s.Text == o.Text && s.IgnoreCase == o.IgnoreCase
}

// Matcher returns the matcher, within the limits of the context. Regular expressions are shared as
// those of [Compile] are. The pattern must be set. An empty prefix, suffix or substring
// would match everything and is an error by the message's own rules. An exceeded limit is an error, too.
func (m StringParts) Matcher(dc *resource.DecodeContext) (String, error) {
	var root *resource.Path
	switch m.pattern {
	case stringExact:
		return fold(Exact, m.text, m.ignoreCase), nil
	case stringPrefix:
		return filled(root.Field("prefix"), fold(Prefix, m.text, m.ignoreCase))
	case stringSuffix:
		return filled(root.Field("suffix"), fold(Suffix, m.text, m.ignoreCase))
	case stringContains:
		return filled(root.Field("contains"), fold(Contains, m.text, m.ignoreCase))
	case stringRegex:
		return newRegex(dc, root.Field("safe_regex"), m.text)
	}
	return String{}, violation(root.Field("match_pattern"), nil, "must have exactly one of exact, prefix, suffix, safe_regex, contains set (A63)")
}

func fold(k Kind, text string, ignoreCase bool) String {
	if ignoreCase {
		text = strings.ToLower(text)
	}
	return String{Kind: k, Text: text, IgnoreCase: ignoreCase}
}

// filled returns an error if there is nothing to compare with.
func filled(p resource.Path, s String) (String, error) {
	if s.Text == "" {
		return String{}, violation(p, "", "must not be empty")
	}
	return s, nil
}

func newRegex(dc *resource.DecodeContext, p resource.Path, regex string) (String, error) {
	re, err := Compile(dc, regex)
	if err != nil {
		return String{}, violation(p.Field("regex"), regex, err.Error())
	}
	return String{Kind: Regex, Text: regex, re: re}, nil
}

// Compile compiles a regular expression that must match the whole text, as Envoy's do. The
// resources of the context's program share it. The context may be nil. The error is the reason why
// the expression is invalid.
func Compile(dc *resource.DecodeContext, regex string) (*regexp.Regexp, error) {
	re, err := dc.Regexp(regex)
	if err != nil {
		return nil, regexError{err}
	}
	return re, nil
}

// CompilePart is [Compile] for a regular expression that matches parts of a text. It is for regex
// substitutions.
func CompilePart(dc *resource.DecodeContext, regex string) (*regexp.Regexp, error) {
	re, err := dc.RegexpPart(regex)
	if err != nil {
		return nil, regexError{err}
	}
	return re, nil
}

// regexError is the error of an invalid regular expression.
type regexError struct{ err error }

func (b regexError) Error() string {
	return "must be an RE2 regular expression: " + strings.TrimPrefix(b.err.Error(), "error parsing regexp: ")
}

// Unwrap returns the error of package regexp.
func (b regexError) Unwrap() error { return b.err }

// violation returns the error for one value.
func violation(p resource.Path, value any, rule string) error {
	var v resource.Violations
	v.Add(p, value, rule)
	return v.Err()
}
