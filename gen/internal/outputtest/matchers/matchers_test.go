package matchers

import (
	"testing"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/xdstest/plugintest"
)

func header(m *routev3.HeaderMatcher) *rbacv3.Permission {
	return &rbacv3.Permission{Rule: &rbacv3.Permission_Header{Header: m}}
}

func text(m *matcherv3.StringMatcher) *routev3.HeaderMatcher_StringMatch {
	return &routev3.HeaderMatcher_StringMatch{StringMatch: m}
}

// headers are matchers of every kind, with a value that each matches.
func headers() map[string]*routev3.HeaderMatcher {
	regex := &matcherv3.RegexMatcher{Regex: "o.e"}
	return map[string]*routev3.HeaderMatcher{
		"one":   {HeaderMatchSpecifier: &routev3.HeaderMatcher_ExactMatch{ExactMatch: "one"}},         //nolint:staticcheck // control planes still send it
		"oxe":   {HeaderMatchSpecifier: &routev3.HeaderMatcher_SafeRegexMatch{SafeRegexMatch: regex}}, //nolint:staticcheck // control planes still send it
		"7":     {HeaderMatchSpecifier: &routev3.HeaderMatcher_RangeMatch{RangeMatch: &typev3.Int64Range{Start: 7, End: 8}}},
		"any":   {HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true}},
		"pre-":  {HeaderMatchSpecifier: &routev3.HeaderMatcher_PrefixMatch{PrefixMatch: "pre"}},     //nolint:staticcheck // control planes still send it
		"-suf":  {HeaderMatchSpecifier: &routev3.HeaderMatcher_SuffixMatch{SuffixMatch: "suf"}},     //nolint:staticcheck // control planes still send it
		"-con-": {HeaderMatchSpecifier: &routev3.HeaderMatcher_ContainsMatch{ContainsMatch: "con"}}, //nolint:staticcheck // control planes still send it
		"Exact": {HeaderMatchSpecifier: text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "eXACT"}, IgnoreCase: true})},
		"pr":    {HeaderMatchSpecifier: text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "p"}})},
		"su":    {HeaderMatchSpecifier: text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Suffix{Suffix: "u"}})},
		"con":   {HeaderMatchSpecifier: text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Contains{Contains: "o"}})},
		"oye":   {HeaderMatchSpecifier: text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: regex}})},
		"else":  {HeaderMatchSpecifier: text(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: "x"}}), InvertMatch: true},
	}
}

// The decoded matcher equals one that is built from the message by hand, and matches.
func TestHeaders(t *testing.T) {
	for value, m := range headers() {
		m.Name = "X-Header"
		want, err := matcher.PartsOfHeader(m).Header(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*rbacv3.Permission{
			header(m),
			{Rule: &rbacv3.Permission_AndRules{AndRules: &rbacv3.Permission_Set{Rules: []*rbacv3.Permission{header(m), header(m)}}}},
			{Rule: &rbacv3.Permission_OrRules{OrRules: &rbacv3.Permission_Set{Rules: []*rbacv3.Permission{header(m), header(m)}}}},
		} {
			u, err := plugintest.Decode(t, Type(), "p", p)
			if err != nil {
				t.Fatal(err)
			}
			got := u.(*Update)
			wantUpdate := &Update{}
			switch p.GetRule().(type) {
			case *rbacv3.Permission_Header:
				wantUpdate.One = want
			case *rbacv3.Permission_AndRules:
				wantUpdate.Many = []matcher.Header{want, want}
			case *rbacv3.Permission_OrRules:
				wantUpdate.Rules = []Rule{{want}, {want}}
			}
			if diff := cmp.Diff(wantUpdate, got, cmpopts.IgnoreUnexported(Update{})); diff != "" {
				t.Errorf("%v (-want +got):\n%s", p, diff)
			}
			if u, ok := p.GetRule().(*rbacv3.Permission_Header); ok && (!got.One.Match(value, true) || got.One.Match("", true) == (value != "any" && value != "else")) {
				t.Errorf("%v does not tell %q from nothing", u, value)
			}
		}
	}
}
