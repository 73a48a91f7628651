package matcher

import (
	"errors"
	"regexp/syntax"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
)

func TestString(t *testing.T) {
	for text, cases := range map[string]map[string]bool{
		`exact: "aB"`:                           {"aB": true, "ab": false, "aBc": false},
		`exact: "aB" ignore_case: true`:         {"Ab": true, "abc": false},
		`exact: ""`:                             {"": true, "a": false},
		`prefix: "a"`:                           {"ab": true, "ba": false, "AB": false},
		`suffix: "B" ignore_case: true`:         {"ab": true, "ba": false},
		`contains: "b"`:                         {"abc": true, "aBc": false},
		`safe_regex { regex: "a|ab" }`:          {"ab": true, "abc": false, "xa": false},
		`safe_regex { regex: "(?i)a\nb" }`:      {"A\nB": true, "A\nB\n": false},
		`safe_regex { regex: "^a.c$" }`:         {"abc": true, "a\nc": false},
		`safe_regex { regex: "" }`:              {"": true, "x": false},
		`prefix: "\xc3\x84" ignore_case: true `: {"äb": true, "ab": false},
	} {
		m := new(matcherv3.StringMatcher)
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			t.Fatal(err)
		}
		s, err := PartsOfString(m).Matcher(nil)
		if err != nil {
			t.Fatal(err)
		}
		for input, want := range cases {
			if got := s.Match(input); got != want {
				t.Errorf("%s: Match(%q) = %v", text, input, got)
			}
		}
	}
	if all := (String{}); !all.Match("") || !all.Match("x") {
		t.Error("the zero value must match everything")
	}
}

func TestEqual(t *testing.T) {
	a, err := newRegex(nil, resource.Path{}, "a")
	if err != nil {
		t.Fatal(err)
	}
	b, c := a, a
	c.Text = "b"
	if !a.Equal(b) || a.Equal(c) || a.Equal(String{Kind: Exact, Text: "a"}) || a.Equal(String{Kind: Regex, Text: "a", IgnoreCase: true}) {
		t.Error("matchers are equal when they match alike")
	}
}

// A part of a text may match when the whole does not. Errors keep their cause.
func TestCompile(t *testing.T) {
	part, err := CompilePart(nil, "b")
	if err != nil || !part.MatchString("abc") {
		t.Errorf("CompilePart: %v", err)
	}
	var cause *syntax.Error
	if _, err := Compile(nil, "("); !errors.As(err, &cause) || cause.Code != syntax.ErrMissingParen {
		t.Errorf("error %v", err)
	}
}

func TestPrefix(t *testing.T) {
	for _, test := range []struct {
		address string
		length  *wrapperspb.UInt32Value
		want    string
	}{
		{"10.1.2.3", wrapperspb.UInt32(8), "10.0.0.0/8"},
		{"10.1.2.3", nil, "0.0.0.0/0"},
		{"10.1.2.3", wrapperspb.UInt32(33), "10.1.2.3/32"},
		{"10.1.2.3", wrapperspb.UInt32(1 << 31), "10.1.2.3/32"},
		{"1:2::3", wrapperspb.UInt32(16), "1::/16"},
		{"1:2::3", wrapperspb.UInt32(200), "1:2::3/128"},
		{"::ffff:1.2.3.4", wrapperspb.UInt32(104), "::ffff:1.0.0.0/104"},
		{"::", nil, "::/0"},
	} {
		got, err := NewPrefix(&corev3.CidrRange{AddressPrefix: test.address, PrefixLen: test.length})
		if err != nil || got.String() != test.want {
			t.Errorf("%s/%v = %v, %v; want %s", test.address, test.length, got, err, test.want)
		}
	}
	for _, address := range []string{"", "a.b.c.d", "10.0.0", "fe80::1%eth0"} {
		if p, err := NewPrefix(&corev3.CidrRange{AddressPrefix: address}); err == nil {
			t.Errorf("%q is the prefix %v", address, p)
		}
	}
}

// A literal matcher compiles its expression at use. It matches nothing if the expression is
// invalid.
func TestLiteralRegex(t *testing.T) {
	for _, tt := range []struct {
		expr string
		want bool
	}{{"a.c", true}, {"a", false}, {"(", false}} {
		s := String{Kind: Regex, Text: tt.expr}
		if got := s.Match("abc"); got != tt.want {
			t.Errorf("%q matches abc: %v, want %v", tt.expr, got, tt.want)
		}
	}
}
