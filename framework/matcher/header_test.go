package matcher

import (
	"strings"
	"testing"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

// absent represents a missing header.
const absent = "\x00absent"

func TestHeader(t *testing.T) {
	for text, cases := range map[string]map[string]bool{
		`exact_match: "aB"`:                                                       {"aB": true, "ab": false, absent: false},
		`exact_match: ""`:                                                         {"": true, "a": false},
		`prefix_match: "a"`:                                                       {"ab": true, "ba": false, "Ab": false},
		`suffix_match: "a"`:                                                       {"ba": true, "ab": false},
		`contains_match: "b"`:                                                     {"abc": true, "ac": false},
		`safe_regex_match { regex: "a+" }`:                                        {"aa": true, "aab": false, absent: false},
		`string_match { exact: "aB" ignore_case: true }`:                          {"Ab": true, "a": false},
		`string_match { safe_regex { regex: "a|b" } }`:                            {"b": true, "ab": false},
		`present_match: true`:                                                     {"": true, "x": true, absent: false},
		`present_match: false`:                                                    {"": false, absent: true},
		`present_match: true invert_match: true`:                                  {"x": false, absent: true},
		`exact_match: "a" invert_match: true`:                                     {"a": false, "b": true, absent: false},
		`range_match { start: -5 end: 7 }`:                                        {"-5": true, "-6": false, "6": true, "7": false, "x": false, "0.5": false, absent: false},
		`range_match { start: 1 end: 1 }`:                                         {"1": false, "0": false},
		`range_match { start: 1 end: 2 } invert_match: true`:                      {"1": false, "2": true, "0": true, "x": true, absent: false},
		`treat_missing_header_as_empty: true exact_match: ""`:                     {"": true, "a": false, absent: true},
		`treat_missing_header_as_empty: true exact_match: "a" invert_match: true`: {"": true, "a": false, absent: true},
		`treat_missing_header_as_empty: true range_match { start: -5 end: 7 }`:    {"6": true, absent: false},
		`treat_missing_header_as_empty: true present_match: true`:                 {"": true, absent: false},
		`treat_missing_header_as_empty: true present_match: false`:                {"": false, absent: true},
		`range_match { start: 9223372036854775807 end: 2 }`:                       nil,
		`range_match { end: -1 }`:                                                 nil,
		`prefix_match: ""`:                                                        nil,
		`suffix_match: ""`:                                                        nil,
		`contains_match: ""`:                                                      nil,
		`safe_regex_match { regex: "(" }`:                                         nil,
		`string_match { prefix: "" }`:                                             nil,
		`string_match {}`:                                                         nil,
		`treat_missing_header_as_empty: true`:                                     nil,
	} {
		m := new(routev3.HeaderMatcher)
		if err := prototext.Unmarshal([]byte(`name: "X-Name" `+text), m); err != nil {
			t.Fatal(err)
		}
		h, err := PartsOfHeader(m).Header(nil)
		if (err != nil) != (cases == nil) {
			t.Errorf("%s: error %v", text, err)
			continue
		}
		if err == nil && h.Name != "x-name" {
			t.Errorf("%s: the name is %q, want lower case", text, h.Name)
		}
		for value, want := range cases {
			if got := h.Match(strings.TrimPrefix(value, absent), value != absent); got != want {
				t.Errorf("%s: Match(%q) = %v", text, value, got)
			}
		}
	}
	if h, err := PartsOfHeader(&routev3.HeaderMatcher{HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}}).Header(nil); err == nil {
		t.Errorf("a matcher without a name is %+v", h)
	}
}

func TestHeaderErrors(t *testing.T) {
	for text, want := range map[string]string{
		`string_match { prefix: "" }`:          `string_match.prefix = ""; must not be empty`,
		`range_match { start: 2 end: 1 }`:      `range_match.end = 1; must not be below range_match.start`,
		`safe_regex_match { regex: "(" }`:      `safe_regex_match.regex = "("; must be an RE2 regular expression: missing closing ): ` + "`(`",
		`treat_missing_header_as_empty: false`: `header_match_specifier; must be set (A28)`,
	} {
		m := new(routev3.HeaderMatcher)
		if err := prototext.Unmarshal([]byte(`name: "a" `+text), m); err != nil {
			t.Fatal(err)
		}
		if _, err := PartsOfHeader(m).Header(nil); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// read decodes an encoded StringMatcher as generated decoders do: as a field of a message.
func read(matcher []byte) (m StringParts, ok bool) {
	b := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), matcher)
	b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), 1)
	last := uint32(0)
	r := wire.Read(b)
	for r.Next() {
		if last = r.Tag(); last == 1<<3|wire.Len {
			m.Read(&r)
		} else {
			r.Skip()
		}
	}
	return m, r.OK() && last == 2<<3|wire.Varint
}

// TestRead compares the reader with protobuf, also for repeated occurrences of a field, unknown
// fields and merged regular expressions.
func TestRead(t *testing.T) {
	encode := func(text string) []byte {
		m := new(matcherv3.StringMatcher)
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	unknown := protowire.AppendBytes(protowire.AppendTag(nil, 99, protowire.BytesType), []byte("x"))
	for _, parts := range [][]byte{
		nil,
		encode(`exact: "a"`), encode(`prefix: "b"`), encode(`suffix: "c"`), encode(`contains: "d"`), encode(`safe_regex { regex: "e" }`),
		encode(`custom { name: "f" }`), encode(`ignore_case: true`),
		append(encode(`exact: "a"`), encode(`prefix: "b" ignore_case: true`)...),
		append(encode(`prefix: "b"`), encode(`safe_regex {}`)...),
		append(encode(`safe_regex { regex: "e" }`), encode(`safe_regex {}`)...),
		append(encode(`safe_regex { google_re2 {} regex: "e" }`), encode(`safe_regex { regex: "f" }`)...),
		append(encode(`exact: "a"`), encode(`custom { name: "f" }`)...),
		append(encode(`custom { name: "f" }`), encode(`contains: "d"`)...),
		append(encode(`exact: "a" ignore_case: true`), unknown...),
		append(append([]byte{}, unknown...), encode(`suffix: "c"`)...),
	} {
		m := new(matcherv3.StringMatcher)
		if err := proto.Unmarshal(parts, m); err != nil {
			t.Fatal(err)
		}
		want := PartsOfString(m)
		if got, ok := read(parts); !ok || got != want {
			t.Errorf("%v is read as %+v, %v; want %+v", m, got, ok, want)
		}
	}
	for _, malformed := range [][]byte{{0x0a}, {0x0a, 5, 'a'}, {0x2a, 2, 0x12, 9}, {0x30}} {
		if m, ok := read(malformed); ok {
			t.Errorf("% x is read as %+v", malformed, m)
		}
	}
}

func TestNewStrings(t *testing.T) {
	exact := StringParts{pattern: stringExact, text: "a"}
	list, err := NewStrings(nil, "names", []StringParts{exact, {pattern: stringPrefix, text: "B", ignoreCase: true}})
	if err != nil || len(list) != 2 || !list[0].Match("a") || !list[1].Match("bc") {
		t.Errorf("NewStrings = %+v, %v", list, err)
	}
	if list, err := NewStrings(nil, "names", nil); list != nil || err != nil {
		t.Errorf("NewStrings of none = %v, %v", list, err)
	}
	const want = "names[1].match_pattern; must have exactly one of exact, prefix, suffix, safe_regex, contains set (A63)"
	if _, err := NewStrings(nil, "names", []StringParts{exact, {}}); err == nil || err.Error() != want {
		t.Errorf("NewStrings: %v, want %s", err, want)
	}
}
