package matcher

import (
	"regexp"
	"strings"

	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// Kind is what a [String] compares.
type Kind uint8

// The kinds.
const (
	Any      Kind = iota // matches everything
	Exact                // the whole text
	Prefix               // how it starts
	Suffix               // how it ends
	Contains             // a part of it
	Regex                // the whole text, by a regular expression
)

// A String matches text (gRFC A63). The zero value matches everything.
type String struct {
	Kind Kind
	// Text is what is compared, or the regular expression as it was given. With
	// IgnoreCase it is in lower case.
	Text string
	// IgnoreCase says that the case of letters does not matter; it has no
	// meaning for regular expressions.
	IgnoreCase bool

	re *regexp.Regexp
}

// Match reports whether text matches. It allocates only where the case is ignored
// and text has letters in upper case.
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

// matchRegex compiles the expression of a literal that no decoder made. Such a literal
// matches nothing if its expression is invalid.
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

// Equal reports whether both match alike.
func (s String) Equal(o String) bool {
	return s.Kind == o.Kind && s.Text == o.Text && s.IgnoreCase == o.IgnoreCase
}

// NewString makes a matcher of a StringMatcher. Its pattern must be set; an empty
// prefix, suffix or part, which would match everything, is an error (the message's
// own rules).
func NewString(m *matcherv3.StringMatcher) (String, error) { return PartsOfString(m).Matcher(nil) }

// Matcher makes the matcher, within the limits of the context. Regular expressions are
// shared as those of [Compile] are. Errors are those of [NewString], or say that a limit is exceeded.
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

// filled demands that there is something to compare.
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

// Compile makes a regular expression that must match everything, as Envoy's do. The
// resources of the context's program share it; the context may be nil. The error says
// what is wrong with the expression.
func Compile(dc *resource.DecodeContext, regex string) (*regexp.Regexp, error) {
	re, err := dc.Regexp(regex)
	if err != nil {
		return nil, regexError{err}
	}
	return re, nil
}

// CompilePart is [Compile] for a regular expression that matches parts of a text, for
// what replaces them.
func CompilePart(dc *resource.DecodeContext, regex string) (*regexp.Regexp, error) {
	re, err := dc.RegexpPart(regex)
	if err != nil {
		return nil, regexError{err}
	}
	return re, nil
}

// regexError says what is wrong with a regular expression.
type regexError struct{ err error }

func (b regexError) Error() string {
	return "must be an RE2 regular expression: " + strings.TrimPrefix(b.err.Error(), "error parsing regexp: ")
}

// Unwrap is the error of package regexp.
func (b regexError) Unwrap() error { return b.err }

// violation is an error of one value.
func violation(p resource.Path, value any, rule string) error {
	var v resource.Violations
	v.Add(p, value, rule)
	return v.Err()
}
