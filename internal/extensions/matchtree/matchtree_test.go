package matchtree_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	matcherv3 "github.com/cncf/xds/go/xds/type/matcher/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3" // the header input, in prototext
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
)

// action and header return the messages of an action and of an input in prototext. Actions are StringMatchers, whose exact
// text is the action.
func action(text string) string {
	return `action { name: "a" typed_config { [type.googleapis.com/xds.type.matcher.v3.StringMatcher] { exact: "` + text + `" } } }`
}

func header(name string) string {
	return `input { name: "i" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: "` + name + `" } } }`
}

// value returns a predicate for a header.
func value(name, pattern string) string {
	return `single_predicate { ` + header(name) + ` value_match { ` + pattern + ` } }`
}

// entry returns an entry of a matcher_list.
func entry(predicate, onMatch string) string {
	return `matchers { predicate { ` + predicate + ` } on_match { ` + onMatch + ` } }`
}

func list(entries ...string) string { return `matcher_list { ` + strings.Join(entries, " ") + ` }` }

func tree(kind string, entries ...string) string {
	return `matcher_tree { ` + header("x-key") + ` ` + kind + ` { ` + strings.Join(entries, " ") + ` } }`
}

func key(k, onMatch string) string {
	return `map { key: "` + k + `" value { ` + onMatch + ` } }`
}

const attributes = `input { name: "i" typed_config { [type.googleapis.com/xds.type.matcher.v3.HttpAttributesCelMatchInput] {} } }`

const celMatch = `custom_match { name: "c" typed_config { [type.googleapis.com/xds.type.matcher.v3.CelMatcher] { description: "yes" } } }`

// A described is a custom matcher that matches calls of the method in its description.
type described string

func (d described) Match(c *matchtree.Call) bool { return c.Method == string(d) }

// context returns a context that knows a matcher for CelMatcher.
func context(t testing.TB) *resource.DecodeContext {
	t.Helper()
	set, err := new(resource.Set).Extend(resource.GRPC, &resource.InputMatcher{
		Message: "xds.type.matcher.v3.CelMatcher",
		Input:   "xds.type.matcher.v3.HttpAttributesCelMatchInput",
		Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			m := new(matcherv3.CelMatcher)
			err := c.Unmarshal(m)
			if m.GetDescription() == "none" {
				return "not a matcher", err
			}
			return described("/" + m.GetDescription()), err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &resource.DecodeContext{Types: set}
}

func read(dc *resource.DecodeContext, m *matcherv3.Matcher) (*matchtree.Tree[string], error) {
	var v resource.Violations
	out := matchtree.Read(dc, (*resource.Path)(nil).Field("m"), m, &v, func(at resource.Path, c resource.TypedConfig) string {
		s := new(matcherv3.StringMatcher)
		if err := c.Unmarshal(s); err != nil {
			v.AddError(at.Field("typed_config"), err)
		}
		return s.GetExact()
	})
	return out, v.Err()
}

func parse(t testing.TB, text string) *matcherv3.Matcher {
	t.Helper()
	m := new(matcherv3.Matcher)
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// call returns a call with headers: "x-a=1 x-b=2".
func call(headers string) *matchtree.Call {
	c := &matchtree.Call{Method: "/s/m", Metadata: make(map[string][]string)}
	for h := range strings.FieldsSeq(headers) {
		name, v, _ := strings.Cut(h, "=")
		c.Metadata[name] = append(c.Metadata[name], v)
	}
	return c
}

// TestFind expects the action of each call; "-" means that there is no match.
func TestFind(t *testing.T) {
	one, two, three := action("1"), action("2"), action("3")
	a, b := value("x-a", `exact: "1"`), value("X-B", `prefix: "2"`)
	for _, tt := range []struct {
		name, matcher string
		want          map[string]string // by headers
	}{
		{"first match", list(entry(a, one), entry(b, two)), map[string]string{"x-a=1 x-b=2": "1", "x-b=22": "2", "x-a=2": "-"}},
		{"default", list(entry(a, one)) + ` on_no_match { ` + two + ` }`, map[string]string{"x-a=1": "1", "x-a=2": "2", "": "2"}},
		{"and", list(entry(`and_matcher { predicate { `+a+` } predicate { `+b+` } }`, one)), map[string]string{"x-a=1 x-b=2": "1", "x-a=1": "-", "x-b=2": "-"}},
		{"or", list(entry(`or_matcher { predicate { `+a+` } predicate { `+b+` } }`, one)), map[string]string{"x-a=1": "1", "x-b=2": "1", "": "-"}},
		{"not", list(entry(`not_matcher { `+a+` }`, one)), map[string]string{"x-a=1": "-", "x-a=2": "1", "": "1"}},
		{"absent header", list(entry(value("x-a", `exact: ""`), one)), map[string]string{"": "-", "x-a=": "1"}},
		{"absent key", tree("exact_match_map", key("", one)) + ` on_no_match { ` + two + ` }`, map[string]string{"": "2", "x-key=": "1"}},
		{"suffix", list(entry(value("x-a", `suffix: "Z" ignore_case: true`), one)), map[string]string{"x-a=az": "1", "x-a=zb": "-"}},
		{"contains", list(entry(value("x-a", `contains: "z"`), one)), map[string]string{"x-a=azb": "1", "x-a=aZb": "-"}},
		{"regex", list(entry(value("x-a", `safe_regex { regex: "a+" }`), one)), map[string]string{"x-a=aa": "1", "x-a=aab": "-"}},
		{"values are joined", list(entry(value("x-a", `exact: "1,2"`), one)), map[string]string{"x-a=1 x-a=2": "1"}},
		{"pseudo-header", list(entry(value(":path", `exact: "/s/m"`), one)), map[string]string{"": "1"}},
		{"method", list(entry(value(":method", `exact: "POST"`), one)), map[string]string{"": "1"}},
		{"host", list(entry(value("Host", `exact: "h"`), one)), map[string]string{":authority=h": "1"}},
		{"hop-by-hop header", list(entry(value("te", `exact: "x"`), one)), map[string]string{"te=x": "-"}},
		{"binary header", list(entry(value("x-bin", `exact: "YQ"`), one)), map[string]string{"x-bin=a": "1"}},
		{"nested", list(entry(a, `matcher { `+list(entry(b, one))+` }`), entry(value("x-c", `exact: "3"`), three)), map[string]string{
			"x-a=1 x-b=2": "1", "x-a=1": "-", "x-a=1 x-c=3": "3", // a nested matcher without a match is no match
		}},
		{"nested default", list(entry(a, `matcher { `+list(entry(b, one))+` on_no_match { `+two+` } }`)), map[string]string{"x-a=1": "2", "": "-"}},
		{"exact map", tree("exact_match_map", key("k", one), key("kk", two)), map[string]string{"x-key=k": "1", "x-key=kk": "2", "x-key=kkk": "-"}},
		{"exact map, nested", tree("exact_match_map", key("k", `matcher { `+list(entry(a, one))+` }`)) + ` on_no_match { ` + two + ` }`, map[string]string{"x-key=k x-a=1": "1", "x-key=k": "2"}},
		{"longest prefix", tree("prefix_match_map", key("grpc", one), key("grpc.channelz", two), key("x", three)), map[string]string{
			"x-key=grpc.channelz.v1": "2", "x-key=grpc.channel": "1", "x-key=grpc": "1", "x-key=grp": "-", "x-key=x": "3",
		}},
		{"shorter prefix", tree("prefix_match_map", key("gr", one), key("grpc", `matcher { `+list(entry(a, two))+` }`), key("", three)), map[string]string{
			"x-key=grpc x-a=1": "2", "x-key=grpc": "1", "x-key=q": "3", "": "-",
		}},
		{"custom", list(entry(`single_predicate { `+attributes+` `+strings.ReplaceAll(celMatch, "yes", "s/m")+` }`, one), entry(`single_predicate { `+attributes+` `+celMatch+` }`, two)), map[string]string{"": "1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := read(context(t), parse(t, tt.matcher))
			if err != nil {
				t.Fatal(err)
			}
			for headers, want := range tt.want {
				action, ok := got.Find(call(headers))
				if !ok {
					action = "-"
				}
				if action != want {
					t.Errorf("a call with the headers %q finds the action %s, want %s", headers, action, want)
				}
			}
		})
	}
}

// TestFindRequest expects the values of the headers and pseudo-headers of HTTP requests; "-" means that a header is absent. What
// the client of a server writes into the URL does not change the scheme.
func TestFindRequest(t *testing.T) {
	request := func(method, target, host string, secure, received bool) matchtree.Call {
		u, err := url.Parse(target)
		if err != nil {
			t.Fatal(err)
		}
		return matchtree.Call{Request: &matchtree.Request{
			Method: method, URL: u, Host: host, Header: http.Header{"X-A": {"1", "2"}, "X-Bin": {"YQ"}, "X-Empty": {""}}, TLS: secure, Received: received,
		}}
	}
	for name, tt := range map[string]struct {
		call matchtree.Call
		want string
	}{
		"client":         {request("", "https://svc/a%20b?c=d", "", false, false), "GET /a%20b?c=d svc svc https"},
		"own host":       {request("PUT", "http://svc", "shop", false, false), "PUT / shop shop http"},
		"target":         {request("GET", "xds://svc/", "", false, false), "GET / svc svc http"},
		"proxied":        {request("GET", "http://svc/", "", true, false), "GET / svc svc https"},
		"server, path":   {request("GET", "/a%3Fb?c=d%20e", "shop", false, true), "GET /a?b?c=d%20e shop shop http"},
		"server":         {request("GET", "/a", "shop", false, true), "GET /a shop shop http"},
		"server, TLS":    {request("GET", "/a", "shop", true, true), "GET /a shop shop https"},
		"claimed scheme": {request("GET", "https://shop/a", "shop", false, true), "GET /a shop shop http"},
		"no host":        {request("GET", "/a", "", false, true), "GET /a - - http"},
	} {
		var got []string
		for _, header := range []string{":method", ":path", ":authority", "host", ":scheme", "x-a", "x-bin", "x-empty", "x-none", ":other"} {
			value, there := tt.call.Header(header)
			if !there {
				value = "-"
			}
			got = append(got, value)
		}
		if all := strings.Join(got, " "); all != tt.want+" 1,2 YQ  - -" {
			t.Errorf("%s: %s; want %s 1,2 YQ  - -", name, all, tt.want)
		}
		if names := slices.Sorted(tt.call.Names()); !slices.Equal(names, []string{"x-a", "x-bin", "x-empty"}) {
			t.Errorf("%s: the headers %q", name, names)
		}
		for range tt.call.Names() {
			break // the function must not yield again
		}
	}
}

// A tree finds actions for HTTP requests by maps and predicates, without an allocation.
func TestTreeOfRequests(t *testing.T) {
	first, err := read(context(t), parse(t, list(entry(value("x-a", `exact: "1,2"`), action("1")))+` on_no_match { matcher { `+tree("prefix_match_map", key("k", action("2")))+` } }`))
	if err != nil {
		t.Fatal(err)
	}
	for want, header := range map[string]http.Header{"1": {"X-A": {"1", "2"}}, "2": {"X-Key": {"key"}, "X-A": {"1"}}, "-": {"X-Key": {"o"}}} {
		c := &matchtree.Call{Request: &matchtree.Request{URL: new(url.URL), Header: header}}
		got, ok := first.Find(c)
		if !ok {
			got = "-"
		}
		if got != want {
			t.Errorf("%v: the action %s; want %s", header, got, want)
		}
		if n := testing.AllocsPerRun(100, func() { _, _ = first.Find(c) }); n > 0 && want != "1" { // which joins values
			t.Errorf("%v: %v allocations; want none", header, n)
		}
	}
}

// nested returns n matchers, each inside the other.
func nested(n int) string {
	text := list(entry(value("a", `exact: ""`), action("1")))
	for range n - 1 {
		text = list(entry(value("a", `exact: ""`), `matcher { `+text+` }`))
	}
	return text
}

func nots(n int) string {
	return list(entry(strings.Repeat(`not_matcher { `, n)+value("a", `exact: ""`)+strings.Repeat(` }`, n), action("1")))
}

func ors(n int) string {
	a := value("a", `exact: ""`)
	return list(entry(strings.Repeat(`or_matcher { predicate { `+a+` } predicate { `, n)+a+strings.Repeat(` } }`, n), action("1")))
}

// keys returns n entries of a map. The last one in their order has the key n.
func keys(n int) string {
	var out strings.Builder
	for i := range n {
		out.WriteString(key(fmt.Sprintf("%05d", i+1), action("1")) + " ")
	}
	return out.String()
}

// TestLastNode expects a matcher to read the last node that the limit allows.
func TestLastNode(t *testing.T) {
	simple := entry(value("x-a", `exact: "1"`), action("1"))
	for _, text := range []string{
		list(strings.Repeat(simple, 4999)) + ` on_no_match { ` + action("last") + ` }`,
		tree("exact_match_map", keys(9_998), key("last", action("last"))),
	} {
		m, err := read(context(t), parse(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := m.Find(call("x-key=last")); got != "last" || !ok {
			t.Errorf("%.100s: found %q, %t; want the last action", text, got, ok)
		}
	}
}

// TestNamesOfHeaders expects the characters of tokens (RFC 9110 section 5.6.2), and a colon only before a name.
func TestNamesOfHeaders(t *testing.T) {
	for c := range 128 {
		name := "n" + string(rune(c))
		if c == '"' || c == '\\' || c < ' ' || c == 127 {
			continue // prototext writes them in another way
		}
		want := strings.ContainsRune("!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", rune(c))
		text := list(entry(`single_predicate { `+header(name)+` value_match { exact: "1" } }`, action("1")))
		if _, err := read(context(t), parse(t, text)); (err == nil) != want {
			t.Errorf("header %q: %v; want it to be valid: %t", name, err, want)
		}
	}
}

// TestViolations expects a violation with this text, or none if it is empty.
func TestViolations(t *testing.T) {
	one := action("1")
	a := value("x-a", `exact: "1"`)
	single := func(text string) string { return list(entry(`single_predicate { `+text+` }`, one)) }
	for _, tt := range []struct{ matcher, want string }{
		{``, `m.matcher_type; must have one of matcher_list, matcher_tree set (A106)`},
		{`matcher_list {}`, `m.matcher_list.matchers; must not be empty (A106)`},
		{list(`matchers { on_match { ` + one + ` } }`), `m.matcher_list.matchers[0].predicate; must have one of single_predicate,`},
		{list(`matchers { predicate { ` + a + ` } }`), `m.matcher_list.matchers[0].on_match; must have one of matcher, action set (A106)`},
		{list(entry(a, one), entry(a, one+` keep_matching: true`)), `m.matcher_list.matchers[1].on_match.keep_matching = true; must not be set`},
		{list(entry(a, one)) + ` on_no_match { keep_matching: true ` + one + ` }`, `m.on_no_match.keep_matching = true`},
		{list(entry(`or_matcher { predicate { `+a+` } }`, one)), `predicate.or_matcher.predicate; must have at least 2 predicates (A106)`},
		{list(entry(`and_matcher {}`, one)), `predicate.and_matcher.predicate; must have at least 2 predicates (A106)`},
		{list(entry(`not_matcher {}`, one)), `predicate.not_matcher; must have one of`},
		{single(`value_match { exact: "" }`), `single_predicate.input.typed_config; must be set`},
		{single(header("x")), `single_predicate.matcher; must have one of value_match, custom_match set (A106)`},
		{single(header("") + ` value_match { exact: "" }`), `input.typed_config.header_name = ""; must be the name of a header`},
		{single(header("a b") + ` value_match { exact: "" }`), `header_name = "a b"; must be the name`},
		{single(header(":") + ` value_match { exact: "" }`), `header_name = ":"; must be the name`},
		{single(header("a:b") + ` value_match { exact: "" }`), `header_name = "a:b"; must be the name`},
		{single(header(strings.Repeat("a", 16383)) + ` value_match { exact: "" }`), ``},
		{single(header(strings.Repeat("a", 16384)) + ` value_match { exact: "" }`), `must be the name of a header`},
		{single(header("x") + ` value_match {}`), `single_predicate.value_match.match_pattern; must have exactly one of`},
		{single(header("x") + ` value_match { custom {} }`), `value_match.match_pattern; must have exactly one of`},
		{single(header("x") + ` value_match { prefix: "" }`), `value_match.prefix = ""; must not be empty`},
		{single(header("x") + ` value_match { safe_regex { regex: "" } }`), `value_match.safe_regex.regex = ""; must not be empty (A106)`},
		{single(header("x") + ` value_match { safe_regex { regex: "(" } }`), `value_match.safe_regex.regex = "("; must be an RE2`},
		{single(attributes + ` value_match { exact: "" }`), `single_predicate.input = "xds.type.matcher.v3.HttpAttributesCelMatchInput"; must be an input of text, for value_match`},
		{single(header("x") + ` ` + celMatch), `must have the input xds.type.matcher.v3.HttpAttributesCelMatchInput; it has envoy.type.matcher.v3.HttpRequestHeaderMatchInput (A106)`},
		{single(attributes + ` ` + celMatch), ``},
		{single(attributes + ` ` + strings.ReplaceAll(celMatch, "yes", "none")), `custom_match.typed_config = "xds.type.matcher.v3.CelMatcher"; must not be read as a string, which cannot match calls`},
		{single(attributes + ` custom_match { typed_config { type_url: "x/acme.M" } }`), `custom_match.typed_config = "acme.M"; must be of a matcher that is registered (A106)`},
		{single(attributes + ` custom_match {}`), `custom_match.typed_config; must be set`},
		{single(`input { typed_config { type_url: "x/acme.I" } } value_match { exact: "" }`), `input.typed_config = "acme.I"; must be one of envoy.type`},
		{`matcher_tree { ` + header("x") + ` }`, `m.matcher_tree.tree_type; must have one of exact_match_map, prefix_match_map set (A106)`},
		{`matcher_tree { ` + header("x") + ` custom_match {} }`, `m.matcher_tree.tree_type; must have one of`},
		{`matcher_tree { exact_match_map { ` + key("a", one) + ` } }`, `m.matcher_tree.input.typed_config; must be set`},
		{`matcher_tree { ` + attributes + ` exact_match_map { ` + key("a", one) + ` } }`, `m.matcher_tree.input = "xds.type.matcher.v3.HttpAttributesCelMatchInput"; must be an input of text`},
		{tree("exact_match_map"), `m.matcher_tree.exact_match_map; must not be empty (A106)`},
		{tree("prefix_match_map"), `m.matcher_tree.prefix_match_map; must not be empty (A106)`},
		{tree("exact_match_map", key("a", "")), `m.matcher_tree.exact_match_map.map[a]; must have one of matcher, action set (A106)`},
		{list(entry(a, `action {}`)), `on_match.action.typed_config; must be set`},
		{nested(16), ``},
		{nested(17), `must not nest more than 16 matchers (A106)`},
		{nots(15), ``},
		{nots(16), `must not nest more than 16 predicates`},
		{ors(15), ``},
		{ors(16), `must not nest more than 16 predicates`},
		{list(strings.Repeat(entry(a, one), 4999)), ``}, // with the matcher itself, 9,999 nodes
		{list(strings.Repeat(entry(a, one), 5000)), `m.matcher_list.matchers[4999].on_match; must not be in a matcher with more than 10000 matchers, outcomes and predicates`},
		{list(entry(`or_matcher { `+strings.Repeat(`predicate { `+a+` } `, 9_996)+` }`, one)) + ` on_no_match { ` + one + ` }`, ``}, // 10,000 nodes
		{list(entry(`or_matcher { `+strings.Repeat(`predicate { `+a+` } `, 9_999)+` }`, one)), `or_matcher.predicate[9998]; must not be in a matcher with more than 10000`},
		{list(entry(`or_matcher { predicate { `+a+` } predicate { `+a+` } predicate { `+a+` } }`, one), strings.Repeat(entry(a, one), 4998)), `m.matcher_list.matchers[4998].predicate; must not be in a matcher with more than 10000`},
		{tree("exact_match_map", keys(9_999)), ``},
		{tree("exact_match_map", keys(10_000)), `m.matcher_tree.exact_match_map.map[10000]; must not be in a matcher with more than 10000`},
		{tree("exact_match_map", key(strings.Repeat("k", 64), "")), `map[` + strings.Repeat("k", 64) + `]; must have one of`},
		{tree("exact_match_map", key(strings.Repeat("k", 65), "")), `map[` + strings.Repeat("k", 32) + `...sha256:`},
	} {
		_, err := read(context(t), parse(t, tt.matcher))
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%.300s: %v", tt.matcher, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%.300s: %v\nwant %s", tt.matcher, err, tt.want)
		}
	}
}

// A program that does not link CEL rejects its matchers, and learns the module to import.
func TestCELNeedsItsModule(t *testing.T) {
	_, err := read(nil, parse(t, list(entry(`single_predicate { `+attributes+` `+celMatch+` }`, action("1")))))
	const want = `needs CEL: import the module github.com/xdsforge/xdsforge/cel, and register cel.Register with xdsforge.WithTypes`
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v; want %q", err, want)
	}
}
