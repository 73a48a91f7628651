package headerchange_test

import (
	"fmt"
	"net/http"
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
	headerchange.Option(resource.Path{}, &option{Header: &corev3.HeaderValue{Key: "x", Value: "a\r\nb: c"}}, &v)
	if v.Err() == nil {
		t.Error("a value with a line break is accepted")
	}
}
