package matcher

import (
	"cmp"

	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// StringParts holds the fields of a StringMatcher.
type StringParts struct {
	pattern    int32 // the number of the pattern's field; 0: there is none
	text       string
	ignoreCase bool
}

// The field numbers of the patterns of a StringMatcher.
const (
	stringExact    = 1
	stringPrefix   = 2
	stringSuffix   = 3
	stringRegex    = 5
	stringContains = 7
	stringCustom   = 8
)

// PartsOfString returns the parts of a message.
func PartsOfString(m *matcherv3.StringMatcher) StringParts {
	text := cmp.Or(m.GetExact(), m.GetPrefix(), m.GetSuffix(), m.GetContains(), m.GetSafeRegex().GetRegex())
	return StringParts{member(m, "match_pattern"), text, m.GetIgnoreCase()}
}

// Read reads the StringMatcher that r would enter, as generated decoders read messages. It merges
// repeated occurrences of a field as protobuf does, and skips fields that it does not need.
func (m *StringParts) Read(r *wire.Reader) {
	outer := r.Enter()
	for r.Next() {
		switch r.Tag() {
		case stringExact<<3 | wire.Len, stringPrefix<<3 | wire.Len, stringSuffix<<3 | wire.Len, stringContains<<3 | wire.Len:
			m.pattern = int32(r.Tag() >> 3)
			m.text = r.String()
		case stringRegex<<3 | wire.Len:
			if m.pattern != stringRegex {
				m.pattern, m.text = stringRegex, ""
			}
			m.readRegex(r)
		case stringCustom<<3 | wire.Len:
			m.pattern, m.text = stringCustom, ""
			r.Skip()
		case 6<<3 | wire.Varint:
			m.ignoreCase = r.Bool()
		default:
			r.Skip()
		}
	}
	r.Leave(outer)
}

// readRegex reads a RegexMatcher.
func (m *StringParts) readRegex(r *wire.Reader) {
	outer := r.Enter()
	for r.Next() {
		if r.Tag() == 2<<3|wire.Len {
			m.text = r.String()
		} else {
			r.Skip()
		}
	}
	r.Leave(outer)
}

// NewStrings converts the StringMatchers of the repeated field with this name. They share regular
// expressions as those of [HeaderParts.Header] do. Errors are those of [StringParts.Matcher].
func NewStrings(dc *resource.DecodeContext, field string, list []StringParts) ([]String, error) {
	if len(list) == 0 {
		return nil, nil
	}
	var root *resource.Path
	var v resource.Violations
	out := make([]String, 0, len(list))
	for i, m := range list {
		s, err := m.Matcher(dc)
		if err != nil {
			v.AddError(root.Item(field, i), err)
			continue
		}
		out = append(out, s)
	}
	return out, v.Err()
}
