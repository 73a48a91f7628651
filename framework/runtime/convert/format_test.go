package convert

import (
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

func TestFormats(t *testing.T) {
	regexp := func(text string) bool { return IsRegexp(nil, text) }
	for _, tt := range []struct {
		name string
		is   func(string) bool
		good []string
		bad  []string
	}{
		{"IsRegexp", regexp, []string{"", "a|b", `^(?i)[a-z]{2}\d+$`}, []string{"(", "[z-a]", "a{1001}", "(?=a)"}},
		{"IsCIDR", IsCIDR, []string{"10.0.0.0/8", "10.1.2.3/8", "::/0", "2001:db8::/32"}, []string{"", "10.0.0.0", "10.0.0.0/33", "a/8", "fe80::1%eth0/64"}},
		{"IsURL", IsURL, []string{"http://a/b?c", "spiffe://example.com", "mailto:a@b"}, []string{"", "a", "//a/b", "http://a b/", "http://[::1"}},
		{"IsDuration", IsDuration, []string{"0", "1m30s", "-1.5h", "1us"}, []string{"", "1", "s", "1d", "1 s"}},
		{
			"IsHostPort", IsHostPort,
			[]string{"a:1", "db_1.example.:65535", "10.0.0.1:80", "[::1]:443", strings.Repeat("a", maxHost) + ":1"},
			[]string{
				"", "a", "a:", ":80", "a:0", "a:65536", "a:http", "a:+1", "::1:80", "[a]:80", "[10.0.0.1]:80", "a b:80", "a..b:80", "-a:80", "a/b:80",
				strings.Repeat("a", maxHost+1) + ":1",
			},
		},
	} {
		for want, texts := range map[bool][]string{true: tt.good, false: tt.bad} {
			for _, text := range texts {
				if got := tt.is(text); got != want {
					t.Errorf("%s(%q) = %t, want %t", tt.name, text, got, want)
				}
			}
		}
	}
}

// An expression above the limit of a resource is none.
func TestIsRegexpLimit(t *testing.T) {
	set, err := resource.NewSet()
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Types: set, Budget: new(wire.Budget)}
	set.Start(dc.Budget, resource.Limits{ResourceRegexps: 100}.WithDefaults(), nil)
	if !IsRegexp(dc, "a{10}") || IsRegexp(dc, "a{900}") {
		t.Errorf("a{10}: %t, a{900}: %t; want true, false", IsRegexp(dc, "a{10}"), IsRegexp(dc, "a{900}"))
	}
}
