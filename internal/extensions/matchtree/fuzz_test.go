package matchtree_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	envoymatcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/internal/extensions/grpcheader"
)

// FuzzRead compares the tree of a message with a naive evaluation of the message itself.
func FuzzRead(f *testing.F) {
	one, two := action("1"), action("2")
	a := value("x-a", `contains: "1"`)
	for _, text := range []string{
		list(entry(a, one), entry(`not_matcher { `+a+` }`, two)),
		list(entry(`or_matcher { predicate { `+a+` } predicate { `+value("x-key", `prefix: "k"`)+` } }`, `matcher { `+tree("exact_match_map", key("k", one))+` }`)),
		tree("prefix_match_map", key("k", `matcher { `+list(entry(a, two))+` }`), key("", one)) + ` on_no_match { ` + two + ` }`,
		nested(16), nots(9),
	} {
		b, err := proto.Marshal(parse(f, text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "x-a=1")
		f.Add(b, "x-key=kk x-a=21")
	}
	f.Fuzz(func(t *testing.T, b []byte, headers string) {
		m := new(matcherv3.Matcher)
		if proto.Unmarshal(b, m) != nil {
			return
		}
		got, err := read(context(t), m)
		if err != nil {
			return
		}
		c := call(headers)
		action, ok := got.Find(c)
		want, found := naiveFind(t, m, c.Metadata)
		if ok != found || ok && action != want {
			t.Errorf("the tree finds %q (%v), and the message %q (%v)", action, ok, want, found)
		}
	})
}

func naiveFind(t *testing.T, m *matcherv3.Matcher, md map[string][]string) (string, bool) {
	var tried []*matcherv3.Matcher_OnMatch
	for _, e := range m.GetMatcherList().GetMatchers() {
		if naiveMatch(t, e.GetPredicate(), md) {
			tried = append(tried, e.GetOnMatch())
		}
	}
	if in := m.GetMatcherTree(); in != nil {
		if v, there := naiveInput(t, in.GetInput().GetTypedConfig().GetValue(), md); there {
			if o, ok := in.GetExactMatchMap().GetMap()[v]; ok {
				tried = append(tried, o)
			}
			var keys []string
			for k := range in.GetPrefixMatchMap().GetMap() {
				if strings.HasPrefix(v, k) {
					keys = append(keys, k)
				}
			}
			slices.SortFunc(keys, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
			for _, k := range keys {
				tried = append(tried, in.GetPrefixMatchMap().GetMap()[k])
			}
		}
	}
	if o := m.GetOnNoMatch(); o != nil {
		tried = append(tried, o)
	}
	for _, o := range tried {
		if o.GetMatcher() == nil {
			s := new(matcherv3.StringMatcher)
			if err := o.GetAction().GetTypedConfig().UnmarshalTo(s); err != nil {
				t.Skip("the action is a TypedStruct")
			}
			return s.GetExact(), true
		}
		if a, ok := naiveFind(t, o.GetMatcher(), md); ok {
			return a, true
		}
	}
	return "", false
}

func naiveMatch(t *testing.T, p *matcherv3.Matcher_MatcherList_Predicate, md map[string][]string) bool {
	if not := p.GetNotMatcher(); not != nil {
		return !naiveMatch(t, not, md)
	}
	for _, one := range p.GetOrMatcher().GetPredicate() {
		if naiveMatch(t, one, md) {
			return true
		}
	}
	if p.GetOrMatcher() != nil {
		return false
	}
	for _, one := range p.GetAndMatcher().GetPredicate() {
		if !naiveMatch(t, one, md) {
			return false
		}
	}
	s := p.GetSinglePredicate()
	if s == nil {
		return true
	}
	if s.GetCustomMatch() != nil || s.GetValueMatch().GetSafeRegex() != nil {
		t.Skip("not evaluated here")
	}
	v, there := naiveInput(t, s.GetInput().GetTypedConfig().GetValue(), md)
	fold := func(s string) string {
		if p.GetSinglePredicate().GetValueMatch().GetIgnoreCase() {
			return strings.ToLower(s)
		}
		return s
	}
	v = fold(v)
	switch m := s.GetValueMatch().GetMatchPattern().(type) {
	case *matcherv3.StringMatcher_Exact:
		return there && v == fold(m.Exact)
	case *matcherv3.StringMatcher_Prefix:
		return there && strings.HasPrefix(v, fold(m.Prefix))
	case *matcherv3.StringMatcher_Suffix:
		return there && strings.HasSuffix(v, fold(m.Suffix))
	case *matcherv3.StringMatcher_Contains:
		return there && strings.Contains(v, fold(m.Contains))
	}
	t.Fatal("a matcher without a pattern is accepted")
	return false
}

func naiveInput(t *testing.T, b []byte, md map[string][]string) (string, bool) {
	in := new(envoymatcherv3.HttpRequestHeaderMatchInput)
	if proto.Unmarshal(b, in) != nil || in.GetHeaderName() == "" {
		t.Skip("the input is a TypedStruct")
	}
	return grpcheader.Value("/s/m", md, strings.ToLower(in.GetHeaderName()))
}
