package matcher

import (
	"strconv"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Header matches the value of one header (gRFC A28). A header that is not there
// matches nothing but its absence, inverted or not (gRFC A41).
type Header struct {
	// Name is the header's, in lower case.
	Name string
	// Value matches its value, where neither Range nor Present is set.
	Value String
	// Range is the half-open interval in which the value, a decimal number, must
	// be.
	Range *Range
	// Present says whether the header must be there.
	Present *bool
	// Invert turns the answer round.
	Invert bool
}

// A Range is a half-open interval of whole numbers.
type Range struct{ Start, End int64 }

// Match reports whether a header matches that has this value, or that is not there.
func (h *Header) Match(value string, there bool) bool {
	if h.Present != nil {
		return (there == *h.Present) != h.Invert
	}
	if !there {
		return false
	}
	if h.Range != nil {
		n, err := strconv.ParseInt(value, 10, 64)
		return (err == nil && n >= h.Range.Start && n < h.Range.End) != h.Invert
	}
	return h.Value.Match(value) != h.Invert
}

// NewHeader makes a matcher of a HeaderMatcher. Its name and its specifier must be
// set; the deprecated specifiers mean what those of string_match do.
func NewHeader(m *routev3.HeaderMatcher) (Header, error) {
	var root *resource.Path
	h := Header{Name: strings.ToLower(m.GetName()), Invert: m.GetInvertMatch()}
	if h.Name == "" {
		return h, violation(root.Field("name"), "", "must be set")
	}
	var err error
	switch s := m.GetHeaderMatchSpecifier().(type) {
	case *routev3.HeaderMatcher_StringMatch:
		h.Value, err = NewString(s.StringMatch)
		if err != nil {
			err = below(root.Field("string_match"), err)
		}
	case *routev3.HeaderMatcher_RangeMatch:
		h.Range = &Range{s.RangeMatch.GetStart(), s.RangeMatch.GetEnd()}
		if h.Range.End < h.Range.Start {
			err = violation(root.Field("range_match.end"), h.Range.End, "must not be below range_match.start")
		}
	case *routev3.HeaderMatcher_PresentMatch:
		h.Present = &s.PresentMatch
	case nil:
		err = violation(root.Field("header_match_specifier"), nil, "must be set (A28)")
	default:
		h.Value, err = deprecated(m)
	}
	return h, err
}

// deprecated reads the specifiers from before string_match.
func deprecated(m *routev3.HeaderMatcher) (String, error) {
	var root *resource.Path
	switch s := m.GetHeaderMatchSpecifier().(type) {
	case *routev3.HeaderMatcher_ExactMatch:
		return fold(Exact, s.ExactMatch, false), nil //nolint:staticcheck // control planes still send it
	case *routev3.HeaderMatcher_PrefixMatch:
		return filled(root.Field("prefix_match"), fold(Prefix, s.PrefixMatch, false)) //nolint:staticcheck // control planes still send it
	case *routev3.HeaderMatcher_SuffixMatch:
		return filled(root.Field("suffix_match"), fold(Suffix, s.SuffixMatch, false)) //nolint:staticcheck // control planes still send it
	case *routev3.HeaderMatcher_ContainsMatch:
		return filled(root.Field("contains_match"), fold(Contains, s.ContainsMatch, false)) //nolint:staticcheck // control planes still send it
	case *routev3.HeaderMatcher_SafeRegexMatch:
		return newRegex(root.Field("safe_regex_match"), s.SafeRegexMatch) //nolint:staticcheck // control planes still send it
	}
	return String{}, violation(root.Field("header_match_specifier"), nil, "must be one that is known (A28)")
}

// NewStrings makes matchers of several StringMatchers, which stand in a repeated
// field with this name.
func NewStrings(field string, list []*matcherv3.StringMatcher) ([]String, error) {
	var root *resource.Path
	var v resource.Violations
	var out []String
	for i, m := range list {
		s, err := NewString(m)
		if err != nil {
			v.AddError(root.Item(field, i), err)
			continue
		}
		out = append(out, s)
	}
	return out, v.Err()
}

func below(p resource.Path, err error) error {
	var v resource.Violations
	v.AddError(p, err)
	return v.Err()
}
