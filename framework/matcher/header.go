package matcher

import (
	"cmp"
	"strconv"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Header matches the value of one header (gRFC A28). An absent header matches only a matcher for
// absence, inverted or not (gRFC A41), unless MissingIsEmpty.
type Header struct {
	// Name is the name of the header, in lower case.
	Name string
	// Value matches the header's value, unless Range or Present is set.
	Value String
	// Range is the half-open interval of values, which are decimal numbers.
	Range *Range
	// Present is true if the header must be present, and false if it must be absent.
	Present *bool
	// Invert inverts the result.
	Invert bool
	// MissingIsEmpty lets Value and Range match an absent header like an empty one, as in Envoy.
	MissingIsEmpty bool
}

// A Range is a half-open interval of whole numbers.
type Range struct{ Start, End int64 }

// Match reports whether the matcher matches a header with this value, or an absent one.
func (h *Header) Match(value string, there bool) bool {
	if h.Present != nil {
		return (there == *h.Present) != h.Invert
	}
	if !there {
		if !h.MissingIsEmpty {
			return false
		}
		value = ""
	}
	if h.Range != nil {
		n, err := strconv.ParseInt(value, 10, 64)
		return (err == nil && n >= h.Range.Start && n < h.Range.End) != h.Invert
	}
	return h.Value.Match(value) != h.Invert
}

// Equal reports whether both matchers have the same results.
func (h Header) Equal(o Header) bool {
	return h.Name == o.Name && h.Value.Equal(o.Value) && h.Invert == o.Invert && h.MissingIsEmpty == o.MissingIsEmpty &&
		same(h.Range, o.Range) && same(h.Present, o.Present)
}

func same[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// HeaderParts holds the fields of a HeaderMatcher that generated decoders read.
type HeaderParts struct {
	Name                   string
	Invert, MissingIsEmpty bool
	// Specifier is the number of the specifier's field; 0: there is none.
	Specifier int32
	// Text is the text or regular expression of a specifier that has one.
	Text string
	// Start and End are the limits of range_match, and Present is present_match.
	Start, End int64
	Present    bool
	// Pattern is the field number of string_match's pattern, which compares PatternText, perhaps
	// with IgnoreCase.
	Pattern     int32
	PatternText string
	IgnoreCase  bool
}

// PartsOfHeader returns the parts of a message.
func PartsOfHeader(m *routev3.HeaderMatcher) HeaderParts {
	pattern := PartsOfString(m.GetStringMatch())
	return HeaderParts{
		Name: m.GetName(), Invert: m.GetInvertMatch(), MissingIsEmpty: m.GetTreatMissingHeaderAsEmpty(), Specifier: member(m, "header_match_specifier"),
		Text: cmp.Or(
			m.GetExactMatch(), m.GetPrefixMatch(), m.GetSuffixMatch(), m.GetContainsMatch(), //nolint:staticcheck // control planes still send it
			m.GetSafeRegexMatch().GetRegex(), //nolint:staticcheck // control planes still send it
		),
		Start: m.GetRangeMatch().GetStart(), End: m.GetRangeMatch().GetEnd(), Present: m.GetPresentMatch(),
		Pattern: pattern.pattern, PatternText: pattern.text, IgnoreCase: pattern.ignoreCase,
	}
}

// member returns the number of the field of a oneof that is set; 0: none is.
func member(m proto.Message, oneof protoreflect.Name) int32 {
	r := m.ProtoReflect()
	if f := r.WhichOneof(r.Descriptor().Oneofs().ByName(oneof)); f != nil {
		return int32(f.Number())
	}
	return 0
}

// The field numbers of the specifiers of a HeaderMatcher.
const (
	headerExact    = 4
	headerRange    = 6
	headerPresent  = 7
	headerPrefix   = 9
	headerSuffix   = 10
	headerRegex    = 11
	headerContains = 12
	headerString   = 13
)

// Header returns the matcher. The context's program shares its regular expressions. The context may
// be nil. Name and specifier must be set. The deprecated specifiers mean the same as those of
// string_match.
func (m HeaderParts) Header(dc *resource.DecodeContext) (Header, error) {
	var root *resource.Path
	h := Header{Name: strings.ToLower(m.Name), Invert: m.Invert, MissingIsEmpty: m.MissingIsEmpty}
	if h.Name == "" {
		return h, violation(root.Field("name"), "", "must be set")
	}
	var err error
	switch m.Specifier {
	case headerString:
		h.Value, err = StringParts{m.Pattern, m.PatternText, m.IgnoreCase}.Matcher(dc)
		if err != nil {
			err = below(root.Field("string_match"), err)
		}
	case headerRange:
		h.Range = &Range{m.Start, m.End}
		if m.End < m.Start {
			err = violation(root.Field("range_match.end"), m.End, "must not be below range_match.start")
		}
	case headerPresent:
		h.Present = new(m.Present)
	case headerExact:
		h.Value = fold(Exact, m.Text, false)
	case headerPrefix:
		h.Value, err = filled(root.Field("prefix_match"), fold(Prefix, m.Text, false))
	case headerSuffix:
		h.Value, err = filled(root.Field("suffix_match"), fold(Suffix, m.Text, false))
	case headerContains:
		h.Value, err = filled(root.Field("contains_match"), fold(Contains, m.Text, false))
	case headerRegex:
		h.Value, err = newRegex(dc, root.Field("safe_regex_match"), m.Text)
	default:
		err = violation(root.Field("header_match_specifier"), nil, "must be set (A28)")
	}
	return h, err
}

func below(p resource.Path, err error) error {
	var v resource.Violations
	v.AddError(p, err)
	return v.Err()
}
