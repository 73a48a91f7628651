package composite_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	_ "github.com/cncf/xds/go/xds/type/matcher/v3" // for prototext
	matchingv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/matching/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/matcher/action/v3" // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/composite/v3"        // for prototext
	_ "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"                             // for prototext
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/internal/extensions/matchtree"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/composite"
)

const (
	extends = ` extension_config { name: "e" typed_config { [type.googleapis.com/envoy.extensions.filters.http.composite.v3.Composite] {} } } `
	skip    = `[type.googleapis.com/envoy.extensions.filters.common.matcher.action.v3.SkipFilter] {}`
)

// nested returns a filter of an action: a TypedExtensionConfig.
func nested(name, message string) string {
	return `name: "` + name + `" typed_config { type_url: "x/` + message + `" }`
}

func execute(text string) string {
	return `[type.googleapis.com/envoy.extensions.filters.http.composite.v3.ExecuteFilterAction] { ` + text + ` }`
}

// matching returns a matcher with one action for the calls with the header x-a: 1.
func matching(action string) string {
	return ` xds_matcher { matcher_list { matchers { predicate { single_predicate { input { name: "i" typed_config {
		[type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: "x-a" } } } value_match { exact: "1" } } }
		on_match { action { name: "a" typed_config { ` + action + ` } } } } } } `
}

// within returns the configuration in n further composite filters.
func within(n int, config string) string {
	for range n {
		config = extends + matching(execute(`typed_config { name: "n" typed_config { [type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher] { `+config+` } }`+`}`))
	}
	return config
}

// context returns a context that knows filters for the client ("test.Client"), for the server and for both sides, and a terminal one.
func context(t testing.TB, profile resource.Profile) *resource.DecodeContext {
	t.Helper()
	filter := func(message string, s resource.Side) *resource.HTTPFilter {
		return &resource.HTTPFilter{Config: message, Sides: s, Parse: func(*resource.DecodeContext, resource.TypedConfig) (any, error) {
			if message == "test.Broken" {
				return nil, errors.New("is broken")
			}
			return "config of " + message, nil
		}}
	}
	both := filter("test.Both", resource.ClientSide|resource.ServerSide)
	both.Override, both.ParseOverride = "test.Override", both.Parse
	terminal := filter("test.Terminal", resource.ClientSide|resource.ServerSide)
	terminal.Terminal = true
	set, err := new(resource.Set).Extend(profile, composite.Filter(), both, terminal, filter("test.Client", resource.ClientSide),
		filter("test.Server", resource.ServerSide), filter("test.Broken", resource.ClientSide))
	if err != nil {
		t.Fatal(err)
	}
	return &resource.DecodeContext{Types: set}
}

func open(t testing.TB, m proto.Message, text string) resource.TypedConfig {
	t.Helper()
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	c, err := resource.OpenTypedConfig(a)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func parse(t testing.TB, dc *resource.DecodeContext, text string) (composite.Config, error) {
	t.Helper()
	got, err := composite.Filter().Parse(dc, open(t, new(matchingv3.ExtensionWithMatcher), text))
	c, _ := got.(composite.Config)
	return c, err
}

func override(t testing.TB, dc *resource.DecodeContext, text string) (composite.Config, error) {
	t.Helper()
	got, err := composite.Filter().ParseOverride(dc, open(t, new(matchingv3.ExtensionWithMatcherPerRoute), text))
	c, _ := got.(composite.Config)
	return c, err
}

// TestVerdicts expects the actions of a configuration for a client, or a violation with the text after "!".
func TestVerdicts(t *testing.T) {
	const place = "xds_matcher.matcher_list.matchers[0].on_match.action"
	client, both := nested("f", "test.Client"), nested("g", "test.Both")
	one := `typed_config { ` + client + ` }`
	for _, tt := range []struct{ text, want string }{
		{extends, "[]"},
		{extends + matching(skip), "[{" + place + " [] 1000000}]"},
		{extends + matching(execute(one)), "[{" + place + " [{f test.Client config of test.Client}] 1000000}]"},
		{extends + matching(execute(`filter_chain { typed_config { `+both+` } typed_config { `+client+` } }`)), "[{" + place + " [{g test.Both config of test.Both} {f test.Client config of test.Client}] 1000000}]"},
		{extends + matching(execute(`filter_chain {} `+one)), "[{" + place + " [] 1000000}]"},
		{extends + matching(execute(one+` dynamic_config { name: "x" } filter_chain_name: "y"`)), "[{" + place + " [{f test.Client config of test.Client}] 1000000}]"},
		{extends + matching(execute(one+` sample_percent { default_value { numerator: 5 } }`)), "[{" + place + " [{f test.Client config of test.Client}] 50000}]"},
		{extends + matching(execute(one+` sample_percent { default_value { numerator: 101 } }`)), "[{" + place + " [{f test.Client config of test.Client}] 1000000}]"},
		{extends + matching(execute(one+` sample_percent { default_value { numerator: 7 denominator: MILLION } runtime_key: "k" }`)), "[{" + place + " [{f test.Client config of test.Client}] 7}]"},
		{extends + `matcher { on_no_match {} }`, "[]"}, // deprecated and not supported

		{``, "!extension_config.typed_config; must be set"},
		{`extension_config { typed_config { type_url: "x/test.Both" } }`, `!extension_config.typed_config = "test.Both"; must be a envoy.extensions.filters.http.composite.v3.Composite (A103)`},
		{extends + `xds_matcher {}`, "!xds_matcher.matcher_type; must have one of"},
		{extends + matching(execute(``)), "!" + place + ".typed_config; must have one of filter_chain, typed_config set (A103)"},
		{extends + matching(execute(`dynamic_config { name: "x" }`)), "!must have one of filter_chain, typed_config set (A103)"},
		{extends + matching(execute(one+` sample_percent {}`)), "!" + place + ".typed_config.sample_percent.default_value; must be set (A103)"},
		{extends + matching(execute(`typed_config { name: "x" }`)), "!" + place + ".typed_config.typed_config.typed_config; must be set"},
		{extends + matching(execute(`typed_config { `+nested("x", "test.Unknown")+` }`)), `!` + place + `.typed_config.typed_config.typed_config = "test.Unknown"; must be of an HTTP filter that is registered for a client (A103)`},
		{extends + matching(execute(`typed_config { `+nested("x", "test.Server")+` }`)), `!"test.Server"; must be of an HTTP filter that is registered for a client (A103)`},
		{extends + matching(execute(`typed_config { `+nested("x", "test.Terminal")+` }`)), `!"test.Terminal"; must not be a terminal HTTP filter (A103)`},
		{extends + matching(execute(`typed_config { `+nested("x", "test.Override")+` }`)), `!"test.Override"; must be the configuration of an HTTP filter; it is an override`},
		{extends + matching(execute(`filter_chain { typed_config { `+client+` } typed_config { `+nested("x", "test.Broken")+` } }`)), `!.typed_config.filter_chain.typed_config[1].typed_config; is broken`},
		{extends + matching(`type_url: "x/test.Both"`), `!` + place + `.typed_config = "test.Both"; must be one of envoy.extensions.filters.http.composite.v3.ExecuteFilterAction`},
		{extends + strings.Replace(matching(skip), `on_match {`, `on_match { keep_matching: true `, 1), `!on_match.keep_matching = true; must not be set`},
		{within(7, extends), "[{" + place + " [{n envoy.extensions.common.matching.v3.ExtensionWithMatcher"},
		{within(8, extends), `!must not nest more than 8 HTTP filters (A103)`},
		{within(7, extends+matching(execute(one))), `!"test.Client"; must not nest more than 8 HTTP filters (A103)`},
	} {
		c, err := parse(t, context(t, resource.GRPC), tt.text)
		got := fmt.Sprint(c.Actions)
		if err != nil {
			got = "!" + err.Error()
		}
		if (err != nil) != (tt.want[0] == '!') || !strings.Contains(got, strings.TrimPrefix(tt.want, "!")) {
			t.Errorf("%s:\n%s\nwant %s", tt.text, got, tt.want)
		}
	}
}

// TestMatcher expects the index of the action for a call, and that a configuration without a matcher has none.
func TestMatcher(t *testing.T) {
	c, err := parse(t, context(t, resource.GRPC), extends+strings.Replace(matching(skip), `on_match {`, `on_match { action { name: "b" typed_config { `+skip+` } } } } matchers { predicate { single_predicate {
		input { name: "i" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: "x-b" } } } value_match { exact: "1" } } } on_match {`, 1))
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]int{"x-a": 0, "x-b": 1} {
		if i, ok := c.Matcher.Find(&matchtree.Call{Metadata: map[string][]string{header: {"1"}}}); !ok || i != want {
			t.Errorf("a call with %s has the action %d (%v); want %d", header, i, ok, want)
		}
	}
	if c, err = parse(t, context(t, resource.GRPC), extends); err != nil || c.Matcher != nil {
		t.Errorf("a configuration without a matcher has the matcher %v, %v", c.Matcher, err)
	}
}

// TestPlaces expects that actions below long keys have short places, and that each has its own.
func TestPlaces(t *testing.T) {
	const depth, long = 15, 10_000
	entry := func(key, onMatch string) string {
		return `map { key: "` + key + `" value { ` + onMatch + ` } }`
	}
	tree := func(entries string) string {
		return `matcher_tree { input { name: "i" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: "x-a" } } }
			exact_match_map { ` + entries + ` } }`
	}
	var leaves strings.Builder
	for _, end := range []string{"a", "b", "c"} {
		leaves.WriteString(entry(strings.Repeat("k", long)+end, `action { name: "a" typed_config { `+skip+` } }`))
	}
	matcher := tree(leaves.String())
	for range depth {
		matcher = tree(entry(strings.Repeat("k", long), `matcher { `+matcher+` }`))
	}
	c, err := parse(t, context(t, resource.GRPC), extends+`xds_matcher { `+matcher+` }`)
	if err != nil {
		t.Fatal(err)
	}
	places := make(map[string]bool)
	for _, a := range c.Actions {
		places[a.Place] = true
		if len(a.Place) > 5000 {
			t.Errorf("an action has a place of %d bytes; want at most 5000", len(a.Place))
		}
	}
	if len(places) != 3 {
		t.Errorf("%d actions have %d places; want 3 of both", len(c.Actions), len(places))
	}
}

// TestPlacesCost expects that places count for the limit of a resource's memory.
func TestPlacesCost(t *testing.T) {
	var leaves strings.Builder
	for range 100 {
		leaves.WriteString(`matchers { predicate { single_predicate { input { name: "i" typed_config {
			[type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: "x-a" } } } value_match { exact: "1" } } }
			on_match { action { name: "a" typed_config { ` + skip + ` } } } } `)
	}
	flat := `matcher_list { ` + leaves.String() + ` }`
	nested := flat
	for range 15 {
		nested = `matcher_tree { input { name: "i" typed_config { [type.googleapis.com/envoy.type.matcher.v3.HttpRequestHeaderMatchInput] { header_name: "x-a" } } }
			exact_match_map { map { key: "` + strings.Repeat("k", 64) + `" value { matcher { ` + nested + ` } } } } }`
	}
	for matcher, want := range map[string]bool{flat: true, nested: false} {
		dc := context(t, resource.GRPC)
		dc.Budget = new(wire.Budget)
		dc.Types.Start(dc.Budget, resource.Limits{ResourceSize: 100_000}.WithDefaults(), nil)
		_, err := parse(t, dc, extends+`xds_matcher { `+matcher+` }`)
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "bytes in memory") {
			t.Errorf("a matcher of %d bytes: %v; want accepted: %v", len(matcher), err, want)
		}
	}
}

// The side of an override is unknown, so filters of any side are accepted (A103).
func TestOverride(t *testing.T) {
	dc := context(t, resource.GRPC)
	for _, message := range []string{"test.Client", "test.Server", "test.Both"} {
		c, err := override(t, dc, matching(execute(`typed_config { `+nested("x", message)+` }`)))
		if err != nil || len(c.Actions) != 1 || c.Actions[0].Filters[0].Message != message {
			t.Errorf("%s: %v, %v", message, c, err)
		}
	}
	if c, err := override(t, dc, ``); err != nil || c.Matcher != nil {
		t.Errorf("an override without a matcher: %v, %v; must let calls pass", c, err)
	}
	if _, err := override(t, dc, matching(execute(`typed_config { `+nested("x", "test.Terminal")+` }`))); err == nil {
		t.Error("an override with a terminal filter is accepted")
	}
	inner := `[type.googleapis.com/envoy.extensions.common.matching.v3.ExtensionWithMatcher] { ` + extends + matching(execute(`typed_config { `+nested("x", "test.Server")+` }`)) + ` }`
	if _, err := override(t, dc, matching(execute(`typed_config { name: "n" typed_config { `+inner+` } }`))); err != nil {
		t.Errorf("a filter of a server in a nested filter of an override: %v", err)
	}
	if _, err := override(t, nil, matching(skip)); err != nil {
		t.Errorf("without a context: %v", err)
	}
}

// In profile Envoy, matchers may have anything that Envoy supports. They are not decoded, and the configuration says so.
func TestEnvoy(t *testing.T) {
	dc := context(t, resource.Envoy)
	matcher := strings.Replace(matching(execute(`typed_config { `+nested("x", "test.Unknown")+` }`)), `on_match {`, `on_match { keep_matching: true `, 1)
	if c, err := parse(t, dc, extends+matcher); err != nil || !c.Unread {
		t.Errorf("Unread is %v, %v; want true", c.Unread, err)
	}
	if c, err := override(t, dc, matcher); err != nil || !c.Unread {
		t.Errorf("Unread of an override is %v, %v; want true", c.Unread, err)
	}
	if c, err := parse(t, dc, extends); err != nil || c.Unread {
		t.Errorf("Unread is %v without a matcher, %v; want false", c.Unread, err)
	}
	if c, err := parse(t, context(t, resource.GRPC), extends+matching(skip)); err != nil || c.Unread {
		t.Errorf("Unread is %v in profile GRPC, %v; want false", c.Unread, err)
	}
	if _, err := parse(t, dc, extends+`xds_matcher { matcher_list {} }`); err == nil || !strings.Contains(err.Error(), "xds_matcher.matcher_list.matchers") {
		t.Errorf("an empty list: %v; must break the rule of the message", err)
	}
}

// The deprecated field is accepted, but its matcher is not decoded. The configuration says so, unless the other field replaces it.
func TestDeprecatedMatcher(t *testing.T) {
	old := strings.Replace(matching(skip), "xds_matcher", "matcher", 1)
	for _, profile := range []resource.Profile{resource.GRPC, resource.Envoy} {
		if c, err := parse(t, context(t, profile), extends+old); err != nil || !c.Unread {
			t.Errorf("profile %v: Unread is %v, %v; want true", profile, c.Unread, err)
		}
	}
	if c, err := parse(t, context(t, resource.GRPC), extends+old+matching(skip)); err != nil || c.Unread || c.Matcher == nil {
		t.Errorf("with xds_matcher: Unread is %v, and the matcher is %v, %v", c.Unread, c.Matcher, err)
	}
}

func TestEqual(t *testing.T) {
	a, err1 := parse(t, context(t, resource.GRPC), extends+matching(skip))
	b, err2 := parse(t, context(t, resource.GRPC), extends+matching(skip))
	c, err3 := parse(t, context(t, resource.GRPC), extends)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	if !a.Equal(b) || a.Equal(c) {
		t.Error("configurations must be equal if and only if their messages are")
	}
}

// FuzzParse expects that no configuration makes the decoder panic, and that accepted ones have an action for each result.
func FuzzParse(f *testing.F) {
	for _, text := range []string{extends + matching(skip), within(3, extends+matching(execute(`typed_config { `+nested("f", "test.Client")+` }`)))} {
		m := new(matchingv3.ExtensionWithMatcher)
		if err := prototext.Unmarshal([]byte(text), m); err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, "1")
	}
	f.Fuzz(func(t *testing.T, b []byte, value string) {
		c, err := resource.OpenTypedConfig(&anypb.Any{TypeUrl: "x/envoy.extensions.common.matching.v3.ExtensionWithMatcher", Value: b})
		if err != nil {
			t.Fatal(err)
		}
		got, err := composite.Filter().Parse(context(t, resource.GRPC), c)
		if err != nil {
			return
		}
		config := got.(composite.Config)
		if config.Matcher == nil {
			return
		}
		i, ok := config.Matcher.Find(&matchtree.Call{Metadata: map[string][]string{"x-a": {value}}})
		if ok && (i < 0 || i >= len(config.Actions)) {
			t.Errorf("the action %d of %d", i, len(config.Actions))
		}
	})
}
