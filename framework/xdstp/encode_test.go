package xdstp

import (
	"fmt"
	"strings"
	"testing"
)

func TestEncodePath(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"server.example.com":       "server.example.com",
		"0.0.0.0:8080":             "0.0.0.0:8080",
		"[::1]:8080":               "%5B::1%5D:8080",
		"a/b//c":                   "a/b//c",
		"100%":                     "100%25",
		"%2F":                      "%252F",
		"a?b#c d":                  "a%3Fb%23c%20d",
		"-._~!$&'()*+,;=:@":        "-._~!$&'()*+,;=:@",
		"\"<>\\^`{|}":              "%22%3C%3E%5C%5E%60%7B%7C%7D",
		"é\x00\xff":                "%C3%A9%00%FF",
		"literal first, then [one": "literal%20first,%20then%20%5Bone",
	} {
		if got := EncodePath(in); got != want {
			t.Errorf("EncodePath(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestEncodeAuthority(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"xds.example.com":       "xds.example.com",
		"u@[::1]:80":            "u@[::1]:80",
		"#.com":                 "%23.com",
		"a/b?c%d":               "a%2Fb%3Fc%25d",
		"-._~!$&'()*+,;=:@[] é": "-._~!$&'()*+,;=:@[]%20%C3%A9",
	} {
		got := EncodeAuthority(in)
		if got != want {
			t.Errorf("EncodeAuthority(%q) = %q, want %q", in, got, want)
		}
		if n := parse(t, "xdstp://"+got+"/t/i"); n.Authority() != in || n.String() != "xdstp://"+got+"/t/i" {
			t.Errorf("authority %q is parsed as %q in %q", in, n.Authority(), n)
		}
	}
}

func TestExpand(t *testing.T) {
	for _, tt := range []struct{ template, value, want string }{
		{"%s", "[::1]:80", "[::1]:80"},
		{"grpc/server?address=%s", "[::]:80", "grpc/server?address=[::]:80"},
		{"no token", "x", "no token"},
		{"xdstp://e/t/no-token", "x", "xdstp://e/t/no-token"},
		{"xdstp://e/t/%s", "[::1]:80", "xdstp://e/t/%5B::1%5D:80"},
		{"xdstp://e/t/%s", "a/b?c", "xdstp://e/t/a/b%3Fc"},
		{"xdstp://e/t/%s/%s?k=%s", "a b", "xdstp://e/t/a%20b/a%20b?k=a%20b"},
		{"xdstp:%s", "[", "xdstp:%5B"},
		{"XDSTP://e/t/%s", "[", "XDSTP://e/t/["},
		{"%s-%s", "%s", "%s-%s"}, // inserted text is not expanded again
		{"100%-%s", "x", "100%-x"},
		{"", "x", ""},
	} {
		if got := Expand(tt.template, tt.value); got != tt.want {
			t.Errorf("Expand(%q, %q) = %q, want %q", tt.template, tt.value, got, tt.want)
		}
	}
}

// TestEncodeEveryOctet compares with the characters that RFC 3986 lists.
func TestEncodeEveryOctet(t *testing.T) {
	const (
		unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
		subDelims  = "!$&'()*+,;="
	)
	for c := range 256 {
		s := string([]byte{byte(c)})
		for _, tt := range []struct {
			part, literal string
			encode        func(string) string
		}{
			{"path", unreserved + subDelims + ":@/", EncodePath},
			{"authority", unreserved + subDelims + ":@[]", EncodeAuthority},
		} {
			want := fmt.Sprintf("%%%02X", c)
			if c < 0x80 && strings.Contains(tt.literal, s) {
				want = s
			}
			if got := tt.encode(s); got != want {
				t.Errorf("the octet %#x in the %s is encoded as %q, want %q", c, tt.part, got, want)
			}
		}
	}
}

func TestEscapesThatEndEarly(t *testing.T) {
	for in, want := range map[string]string{
		"xdstp://e/t/%C3":          ruleUTF8, // a character of two octets that ends after one
		"xdstp://e/t/%F0%9F%98":    ruleUTF8,
		"xdstp://e/t/%C3a":         ruleUTF8,
		"xdstp://e/t/%C":           ruleEscape,
		"xdstp://e/t/%F0%9F%98%8":  ruleEscape,
		"xdstp://e/t/%f0%9f%98%80": "",
		"xdstp://e/t/%/f":          ruleEscape,
		"xdstp://e/t/%:0":          ruleEscape,
		"xdstp://e/t/%@0":          ruleEscape,
		"xdstp://e/t/%G0":          ruleEscape,
		"xdstp://e/t/%`0":          ruleEscape,
		"xdstp://e/t/%g0":          ruleEscape,
	} {
		_, err := Parse(in)
		if got := ruleOf(err); got != want {
			t.Errorf("Parse(%q) breaks the rule %q (%v), want %q", in, got, err, want)
		}
	}
}

// TestHexDigits checks the value of each digit in both cases, by the canonical form of a name's id.
func TestHexDigits(t *testing.T) {
	for c := range 256 {
		for _, format := range []string{"%%%02x", "%%%02X"} {
			in := "xdstp://e/t/" + fmt.Sprintf(format, c)
			n, err := Parse(in)
			if c < 0x20 || c >= 0x7f { // control characters, and octets that are not valid characters
				if err == nil {
					t.Errorf("Parse(%q) = %q, want an error", in, n)
				}
				continue
			}
			want := EncodePath(string(rune(c)))
			if c == '/' {
				want = "%2F" // unescaped, it separates segments
			}
			if err != nil || n.ID() != want {
				t.Errorf("the id of %q is %q, %v; want %q", in, n.ID(), err, want)
			}
		}
	}
}
