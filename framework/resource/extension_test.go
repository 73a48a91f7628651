package resource

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	xdstypev3 "github.com/cncf/xds/go/xds/type/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

func parseNothing(*DecodeContext, TypedConfig) (any, error) { return nil, nil } //nolint:nilnil // a test's

func extend(t *testing.T, extensions ...Extension) *Set {
	t.Helper()
	set, err := new(Set).Extend(GRPC, extensions...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestExtensionsAreFoundByTheirNames(t *testing.T) {
	filter := &HTTPFilter{Config: "a.Filter", Override: "a.Override", Sides: ClientSide, Parse: parseNothing, ParseOverride: parseNothing}
	policy := &LBPolicy{Config: "a.Filter"}
	specifier := &ClusterSpecifier{Config: "a.Filter", Parse: func(*DecodeContext, TypedConfig) (LBConfig, error) { return LBConfig{}, nil }}
	kind := &MetadataKind{Message: "a.Filter", Parse: parseNothing}
	provider := &CertificateProvider{Plugin: "a.Filter"}
	input := &InputMatcher{Message: "a.Filter", Input: "a.Input", Parse: parseNothing}
	set := extend(t, filter, policy, specifier, kind, provider, input)
	byConfig, ok1 := set.HTTPFilter("a.Filter")
	byOverride, ok2 := set.HTTPFilter("a.Override")
	if !ok1 || !ok2 || byConfig != filter || byOverride != filter {
		t.Error("a filter is found by its configuration and by its override")
	}
	if got, ok := set.LBPolicy("a.Filter"); !ok || got != policy {
		t.Error("the policy is not found")
	}
	if got, ok := set.ClusterSpecifier("a.Filter"); !ok || got != specifier {
		t.Error("the specifier is not found")
	}
	if got, ok := set.MetadataKind("a.Filter"); !ok || got != kind {
		t.Error("the kind of metadata is not found")
	}
	if got, ok := set.CertificateProvider("a.Filter"); !ok || got != provider {
		t.Error("the provider is not found")
	}
	if got, ok := set.InputMatcher("a.Filter"); !ok || got != input {
		t.Error("the input matcher is not found")
	}
	if _, ok := set.LBPolicy("a.Override"); ok {
		t.Error("a filter is found as a policy")
	}
	var none *Set
	if _, ok := none.HTTPFilter("a.Filter"); ok || none.Profile() != GRPC {
		t.Error("no set has no extensions, and gRPC's profile")
	}
}

func TestExtendReportsEverything(t *testing.T) {
	filter := &HTTPFilter{Config: "a.Filter", Sides: ServerSide, Parse: parseNothing}
	set := extend(t, filter)
	_, err := set.Extend(Envoy, nil, filter, (*HTTPFilter)(nil), &HTTPFilter{}, &HTTPFilter{Config: "x"}, &HTTPFilter{Config: "x", Parse: parseNothing},
		&HTTPFilter{Config: "x", Parse: parseNothing, Override: "y"}, &LBPolicy{}, &ClusterSpecifier{}, &MetadataKind{}, &CertificateProvider{}, &InputMatcher{Message: "x", Parse: parseNothing})
	if err == nil {
		t.Fatal("all of that is accepted")
	}
	for _, want := range []string{
		"a nil extension", "HTTP filter a.Filter is there twice", "a nil HTTPFilter", "HTTPFilter.Config is empty", "HTTPFilter.Parse of x is nil", "HTTPFilter.Sides of x is 0",
		"HTTPFilter.ParseOverride of x is nil", "an LBPolicy needs", "a ClusterSpecifier needs", "a MetadataKind needs", "a CertificateProvider needs", "an InputMatcher needs",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v\nsays nothing of %q", err, want)
		}
	}
	again, err := set.Extend(Envoy)
	if err != nil || again.Profile() != Envoy || set.Profile() != GRPC || Envoy.String() != "Envoy" || GRPC.String() != "gRPC" {
		t.Errorf("%v, %v", again.Profile(), err)
	}
	if more, err := again.With(newType("x", func(*DecodeContext, []byte) (Update, error) { return nil, nil })); err != nil || more.Profile() != Envoy { //nolint:nilnil // never called
		t.Errorf("a set with more types has %v, %v; must keep the profile", more.Profile(), err)
	} else if _, ok := more.HTTPFilter("a.Filter"); !ok {
		t.Error("a set with more types must keep the extensions")
	}
}

func TestTypedConfig(t *testing.T) {
	pack := func(m proto.Message) *anypb.Any {
		a, err := anypb.New(m)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	fields, err := structpb.NewStruct(map[string]any{"address": "a"})
	if err != nil {
		t.Fatal(err)
	}
	typed := pack(&xdstypev3.TypedStruct{TypeUrl: "any.thing/envoy.config.core.v3.SocketAddress", Value: fields})
	older := &anypb.Any{TypeUrl: "x/udpa.type.v1.TypedStruct", Value: typed.GetValue()}
	for _, a := range []*anypb.Any{typed, older, pack(&corev3.SocketAddress{Address: "a"})} {
		c, err := OpenTypedConfig(a)
		if err != nil {
			t.Fatal(err)
		}
		m := new(corev3.SocketAddress)
		if err := c.Unmarshal(m); err != nil || m.GetAddress() != "a" {
			t.Errorf("%s: %v, %v", a.GetTypeUrl(), m, err)
		}
		if _, err := c.Encoded((*corev3.SocketAddress)(nil)); err != nil {
			t.Errorf("%s: %v", a.GetTypeUrl(), err)
		}
		if _, err := c.Encoded((*corev3.Pipe)(nil)); err == nil || err.Error() != "is a envoy.config.core.v3.SocketAddress; must be a envoy.config.core.v3.Pipe" {
			t.Errorf("as another message: %v", err)
		}
		if err := c.Unmarshal(new(corev3.Pipe)); err == nil || err.Error() != "is a envoy.config.core.v3.SocketAddress; must be a envoy.config.core.v3.Pipe" {
			t.Errorf("as another message: %v", err)
		}
	}
	empty, err := OpenTypedConfig(pack(&xdstypev3.TypedStruct{TypeUrl: "x/envoy.config.core.v3.Pipe"}))
	if err != nil || empty.Fields == nil || empty.Unmarshal(new(corev3.Pipe)) != nil {
		t.Errorf("a TypedStruct without a value: %+v, %v", empty, err)
	}
	for want, a := range map[string]*anypb.Any{
		"must be set": nil, "must name a message": {}, "not a xds.type.v3.TypedStruct": {TypeUrl: "x/xds.type.v3.TypedStruct", Value: []byte{0xff}},
	} {
		if _, err := OpenTypedConfig(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v; want %q", a, err, want)
		}
	}
	wrong := TypedConfig{Message: "google.protobuf.Int32Value", encoded: []byte{0xff}}
	if err := wrong.Unmarshal(new(wrapperspb.Int32Value)); err == nil || !strings.Contains(err.Error(), "not a google.protobuf.Int32Value") {
		t.Errorf("garbage: %v", err)
	}
	_, err = wrong.Encoded((*wrapperspb.Int32Value)(nil))
	if want := wrong.Unmarshal(new(wrapperspb.Int32Value)); err == nil || err.Error() != want.Error() {
		t.Errorf("garbage: %v; want %v", err, want)
	}
}

// A program configures its own LB policy by a TypedStruct, and in no other form.
func TestOwnLBPolicy(t *testing.T) {
	dc := &DecodeContext{Types: extend(t, &LBPolicy{Config: "google.protobuf.Int32Value"})}
	fields, err := structpb.NewStruct(map[string]any{"n": 1})
	if err != nil {
		t.Fatal(err)
	}
	typed, err := anypb.New(&xdstypev3.TypedStruct{TypeUrl: "x/google.protobuf.Int32Value", Value: fields})
	if err != nil {
		t.Fatal(err)
	}
	policies := func(configs ...*anypb.Any) []byte {
		m := new(clusterv3.LoadBalancingPolicy)
		for _, c := range configs {
			m.Policies = append(m.Policies, &clusterv3.LoadBalancingPolicy_Policy{TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: "p", TypedConfig: c}})
		}
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	c, err := dc.LBPolicy(policies(&anypb.Any{TypeUrl: "x/unknown.Policy"}, typed))
	if text, _ := json.Marshal(c); err != nil || string(text) != `[{"google.protobuf.Int32Value":{"n":1}}]` {
		t.Errorf("%s, %v", text, err)
	}
	const want = "policies[0].typed_extension_config.typed_config; must be in a TypedStruct (A52)"
	if _, err := dc.LBPolicy(policies(&anypb.Any{TypeUrl: "x/google.protobuf.Int32Value"})); err == nil || err.Error() != want {
		t.Errorf("error %v; want %s", err, want)
	}
}

func TestCertificateProvider(t *testing.T) {
	boot, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "x", "channel_creds": [{"type": "insecure"}]}], "certificate_providers": {"i": {"plugin_name": "p"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	known := extend(t, &CertificateProvider{Plugin: "p"})
	for _, test := range []struct {
		dc   *DecodeContext
		name string
		ok   bool
	}{
		{&DecodeContext{Bootstrap: boot, Types: known}, "i", true},
		{&DecodeContext{Bootstrap: boot, Types: known}, "j", false},
		{&DecodeContext{Bootstrap: boot}, "i", false},
		{&DecodeContext{Types: known}, "i", false},
	} {
		if err := test.dc.CertificateProvider(test.name); (err == nil) != test.ok {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestSides(t *testing.T) {
	dc := new(DecodeContext)
	server := dc.At(ServerSide)
	if dc.Side() != ClientSide || server.Side() != ServerSide || (ClientSide|ServerSide).String() != "client and server" {
		t.Errorf("%v, %v", dc.Side(), server.Side())
	}
}

// A runningFilter adds code to the filter that parses configurations, as package httpfilter does.
type runningFilter struct {
	*HTTPFilter
	Run func()
}

// TestRunningExtensions expects lookups to return the parsing part of a running extension, and
// Extensions to yield the extension itself.
func TestRunningExtensions(t *testing.T) {
	parse := func(*DecodeContext, TypedConfig) (any, error) { return struct{}{}, nil }
	f := &runningFilter{HTTPFilter: &HTTPFilter{Config: "test.F", Override: "test.O", Sides: ClientSide, Parse: parse, ParseOverride: parse}}
	policy := &LBPolicy{Config: "test.P"}
	empty, err := NewSet()
	if err != nil {
		t.Fatal(err)
	}
	set, err := empty.Extend(GRPC, policy, f)
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range []string{"test.F", "test.O"} {
		if got, ok := set.HTTPFilter(message); !ok || got != f.HTTPFilter {
			t.Errorf("HTTPFilter(%s) = %v, %v; want the reading half", message, got, ok)
		}
	}
	if got := slices.Collect(set.Extensions()); !slices.Equal(got, []Extension{f, policy}) {
		t.Errorf("Extensions = %v; want the filter and the policy, each once", got)
	}
	kept := set.Keep(func(e Extension) bool { return e != Extension(f) })
	if _, ok := kept.HTTPFilter("test.O"); ok {
		t.Error("Keep leaves an extension that is not to be kept")
	}
	if _, ok := kept.LBPolicy("test.P"); !ok {
		t.Error("Keep drops an extension that is to be kept")
	}
	if _, ok := set.HTTPFilter("test.F"); !ok {
		t.Error("Keep changes the set that it is called on")
	}
	for _, bad := range []Extension{&runningFilter{}, (*runningFilter)(nil)} {
		if err := checkExtension(bad); err == nil || !strings.Contains(err.Error(), "nil") {
			t.Errorf("checkExtension(%v) = %v", bad, err)
		}
	}
}

// TestFill expects extensions of a set to stay, and running ones to have precedence over others with the same name.
func TestFill(t *testing.T) {
	parse := func(*DecodeContext, TypedConfig) (any, error) { return struct{}{}, nil }
	filter := func(config, override string) *HTTPFilter {
		f := &HTTPFilter{Config: config, Override: override, Sides: ClientSide, Parse: parse}
		if override != "" {
			f.ParseOverride = parse
		}
		return f
	}
	policy, other := &LBPolicy{Config: "test.P"}, &LBPolicy{Config: "test.P"}
	reads, runs, late := filter("test.F", ""), &runningFilter{HTTPFilter: filter("test.F", "")}, &runningFilter{HTTPFilter: filter("test.F", "")}
	half, free := &runningFilter{HTTPFilter: filter("test.G", "test.F")}, filter("test.H", "test.I")
	set, err := new(Set).Extend(GRPC, policy)
	if err != nil {
		t.Fatal(err)
	}
	filled, err := set.Fill(reads, runs, late, other, half, free)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(filled.Extensions()); !slices.Equal(got, []Extension{runs, free, policy}) {
		t.Errorf("the extensions are %v; want the first running filter, the free one and the policy of the set", got)
	}
	if got := slices.Collect(set.Extensions()); len(got) != 1 {
		t.Errorf("Fill changes the set that it is called on: %v", got)
	}
	if _, err := set.Fill(free, filter("", "")); err == nil || !strings.Contains(err.Error(), "HTTPFilter.Config is empty") {
		t.Errorf("a filter without a name: %v", err)
	}
	if filled, err = set.Fill(reads, free); err != nil || len(slices.Collect(filled.Extensions())) != 3 {
		t.Errorf("filters that only read configurations: %v", err)
	}
}
