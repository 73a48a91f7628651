package resource

import (
	"encoding/json"
	"errors"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// The config quotes the name of a policy if JSON requires it. A list of policies may contain
// another.
func TestLBConfig(t *testing.T) {
	for _, c := range []LBConfig{{"round_robin", "{}"}, {"", ""}, {"a\"b\\c", `{"x":1}`}, {"\x01é", "{}"}} {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var got []map[string]json.RawMessage
		if err := json.Unmarshal(text, &got); err != nil || len(got) != 1 {
			t.Fatalf("%s: %v", text, err)
		}
		want := c.Config
		if want == "" {
			want = "null"
		}
		if config, ok := got[0][c.Name]; !ok || string(config) != want {
			t.Errorf("%q became %s", c, text)
		}
		var outer struct{ Child json.RawMessage }
		if err := json.Unmarshal([]byte(c.List(`{"child":`, "}")), &outer); err != nil || string(outer.Child) != string(text) {
			t.Errorf("below another: %s, %v; want %s", outer.Child, err, text)
		}
	}
}

// Clusters whose policies are equal share the converted policy. A policy that failed, or that other types convert, is
// converted again.
func TestSharedLBPolicy(t *testing.T) {
	converted := 0
	fail := false
	types := func(name string) *Set {
		s, err := new(Set).Extend(GRPC, &LBPolicy{Config: "acme.Policy", Convert: func(TypedConfig, LBChildren) (LBConfig, error) {
			converted++
			if fail {
				return LBConfig{}, errors.New("must not fail")
			}
			return LBConfig{Name: name, Config: "{}"}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	policies := func(config string) []byte {
		b, err := proto.Marshal(&clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{
			TypedExtensionConfig: &corev3.TypedExtensionConfig{TypedConfig: &anypb.Any{TypeUrl: "x/acme.Policy", Value: []byte(config)}},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	dc := &DecodeContext{Types: types("first")}
	convert := func(policies []byte, want string, times int) {
		t.Helper()
		before := converted
		if c, err := dc.LBPolicy(policies); c.Name != want || (err == nil) == fail || converted-before != times {
			t.Errorf("got %q and the error %v after %d conversions; want %q after %d", c.Name, err, converted-before, want, times)
		}
	}
	convert(policies("a"), "first", 1)
	convert(policies("a"), "first", 0)
	convert(policies("b"), "first", 1)
	convert(policies("a"), "first", 1)
	dc.Types = types("second")
	convert(policies("a"), "second", 1)
	fail = true
	convert(policies("b"), "", 1)
	convert(policies("b"), "", 1)
}
