package headerchange_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/headerchange"
)

// Each action changes a header that is there, and one that is not.
func TestActions(t *testing.T) {
	type option = corev3.HeaderValueOption
	for i, tt := range []struct {
		option       *option
		there, other string
	}{
		{&option{AppendAction: corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD}, "[old new]", "[new]"},
		{&option{AppendAction: corev3.HeaderValueOption_ADD_IF_ABSENT}, "[old]", "[new]"},
		{&option{AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD}, "[new]", "[new]"},
		{&option{AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS}, "[new]", "[]"},
		{&option{Append: wrapperspb.Bool(false)}, "[new]", "[new]"}, //nolint:staticcheck // control planes still send it
	} {
		tt.option.Header = &corev3.HeaderValue{Key: "x-a", Value: "new"}
		var v resource.Violations
		c, ok := headerchange.Option(resource.Path{}, tt.option, &v)
		if !ok || v.Err() != nil {
			t.Errorf("option %d: %t, %v", i, ok, v.Err())
		}
		there, other := http.Header{"X-A": {"old"}}, http.Header{}
		headerchange.Apply(there, []headerchange.Change{c})
		headerchange.Apply(other, []headerchange.Change{c})
		if got := fmt.Sprint(there["X-A"], other["X-A"]); got != tt.there+" "+tt.other {
			t.Errorf("option %d makes %s; want %s %s", i, got, tt.there, tt.other)
		}
	}
	var v resource.Violations
	h := http.Header{"X-A": {"old"}}
	headerchange.Apply(h, []headerchange.Change{headerchange.Removal(resource.Path{}, "x-a", &v)})
	if len(h) > 0 || v.Err() != nil {
		t.Errorf("a removal leaves %v, %v", h, v.Err())
	}
	if _, ok := headerchange.Option(resource.Path{}, &option{Header: &corev3.HeaderValue{Key: "x"}}, &v); ok {
		t.Error("an empty value is kept; want it only with keep_empty_value")
	}
	if c, ok := headerchange.Option(resource.Path{}, &option{Header: &corev3.HeaderValue{Key: "x"}, KeepEmptyValue: true}, &v); !ok || c.Value != "" {
		t.Errorf("with keep_empty_value, the change is %v, %t; want one to an empty value", c, ok)
	}
}

// TestRules reads names and values at the edges of the rules.
func TestRules(t *testing.T) {
	const name, reserved = "must be the name of a header, with at most 16384 bytes", "must not be host, connection, content-length or transfer-encoding"
	for _, tt := range []struct {
		key, value string
		raw        bool   // the value is in raw_value
		want       string // the name and value of the change
		rule       string // the broken rule
	}{
		{key: "x-A", value: "b", want: "X-A: b"},
		{key: "x-a", value: "b", raw: true, want: "X-A: b"},
		{key: "x-a", value: "a\tb", want: "X-A: a\tb"},
		{key: "x-a", value: "100 %%", want: "X-A: 100 %"},
		{key: "azAZ09!#$%&'*+-.^_`|~", value: "b", want: "Azaz09!#$%&'*+-.^_`|~: b"},
		{key: strings.Repeat("X", 16384), value: "b", want: "X" + strings.Repeat("x", 16383) + ": b"},
		{key: "x", value: strings.Repeat("b", 16384), want: "X: " + strings.Repeat("b", 16384)},
		{key: "x-a", value: "a %REQ(b)%", rule: "must have no substitution commands"},
		{key: "x-a", value: "100 %", rule: "must have no substitution commands"},
		{key: "x-a", value: "a\r\nb: c", rule: "must have no control characters"},
		{key: "x-a", value: "a\x1f", rule: "must have no control characters"},
		{key: "x-a", value: "a\x7f", rule: "must have no control characters"},
		{key: "x-a", value: strings.Repeat("b", 16385), rule: "must have at most 16384 bytes"},
		{key: "", value: "b", rule: name},
		{key: strings.Repeat("x", 16385), value: "b", rule: name},
		{key: "a b", value: "b", rule: name},
		{key: "a:", value: "b", rule: name},
		{key: "ä", value: "b", rule: name},
		{key: "Host", value: "b", rule: reserved},
		{key: "content-Length", value: "b", rule: reserved},
		{key: "transfer-encoding", value: "b", rule: reserved},
		{key: "CONNECTION", value: "b", rule: reserved},
	} {
		h := &corev3.HeaderValue{Key: tt.key, Value: tt.value}
		if tt.raw {
			h.Value, h.RawValue = "", []byte(tt.value)
		}
		var v resource.Violations
		c, _ := headerchange.Option(resource.Path{}, &corev3.HeaderValueOption{Header: h}, &v)
		switch err := v.Err(); {
		case tt.rule != "":
			if err == nil || !strings.Contains(err.Error(), tt.rule) {
				t.Errorf("%.40q: %.40q has the error %v, want %q", tt.key, tt.value, err, tt.rule)
			}
		case err != nil || c.Name+": "+c.Value != tt.want:
			t.Errorf("%.40q: %.40q makes %.40q: %.40q, %v; want %.80q", tt.key, tt.value, c.Name, c.Value, err, tt.want)
		}
	}
	var v resource.Violations
	headerchange.Option(resource.Path{}, &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: "x", Value: "b"}, AppendAction: 9}, &v)
	if v.Err() == nil {
		t.Error("an unknown action is accepted")
	}
}
