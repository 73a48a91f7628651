package grpcheader_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/extensions/grpcheader"
)

// A header must have a valid name and value. raw_value has precedence over value.
func TestRead(t *testing.T) {
	long := strings.Repeat("a", 16385)
	for _, tt := range []struct {
		key, raw, value string
		want            string // the value, or the path of the error
	}{
		{"x-a_b.c0", "v", "w", "v"},
		{"x", "", "w", "w"},
		{"x", "", "", ""},
		{"x", " ~", "", " ~"},
		{"x-bin", "\x00\xff\n", "", "\x00\xff\n"},
		{strings.Repeat("a", 16384), strings.Repeat("b", 16384), "", strings.Repeat("b", 16384)},
		{"", "v", "", "!key"},
		{"X", "v", "", "!key"},
		{"x y", "v", "", "!key"},
		{"host", "v", "", "!key"},
		{":path", "v", "", "!key"},
		{"grpc-timeout", "v", "", "!key"},
		{long, "v", "", "!key"},
		{"x", long, "", "!raw_value"},
		{"x-bin", long, "", "!raw_value"},
		{"x", "", long, "!value"},
		{"x", "a\nb", "", "!raw_value"},
		{"x", "", "é", "!value"},
	} {
		h, err := grpcheader.Read(&corev3.HeaderValue{Key: tt.key, RawValue: []byte(tt.raw), Value: tt.value})
		path, bad := strings.CutPrefix(tt.want, "!")
		var e *grpcheader.Error
		switch {
		case bad && (!errors.As(err, &e) || e.Path != path || len(err.Error()) > 300):
			t.Errorf("%.20q %.20q %.20q: %v; want an error at %s", tt.key, tt.raw, tt.value, err, path)
		case !bad && (err != nil || h.Name != tt.key || h.Value != tt.want):
			t.Errorf("%.20q %.20q %.20q: %.20q, %v; want %.20q", tt.key, tt.raw, tt.value, h.Value, err, tt.want)
		}
	}
}

// Messages have raw values, and those of binary headers are in base64.
func TestMessage(t *testing.T) {
	for _, tt := range []struct {
		header grpcheader.Header
		want   string
	}{{grpcheader.Header{Name: "x", Value: "v"}, "v"}, {grpcheader.Header{Name: "x-bin", Value: "\x00\x01"}, "AAE="}} {
		if m := tt.header.Message(); string(m.GetRawValue()) != tt.want || m.GetValue() != "" || m.GetKey() != tt.header.Name {
			t.Errorf("%v: %v; want the raw value %q", tt.header, m, tt.want)
		}
	}
}

// Each action changes a header that is there, and one that is not.
func TestActions(t *testing.T) {
	for action, want := range map[grpcheader.Action]string{
		corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD:    "[old new] [new]",
		corev3.HeaderValueOption_ADD_IF_ABSENT:              "[old] [new]",
		corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD: "[new] [new]",
		corev3.HeaderValueOption_OVERWRITE_IF_EXISTS:        "[new] []",
	} {
		values := append(make([]string, 0, 9), "old")
		md := map[string][]string{"there": values}
		for _, name := range []string{"there", "other"} {
			c, err := grpcheader.ReadChange(&corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: name, Value: "new"}, AppendAction: action})
			if err != nil {
				t.Fatal(err)
			}
			c.Apply(md)
		}
		if got := fmt.Sprint(md["there"], md["other"]); got != want {
			t.Errorf("%v: %s; want %s", action, got, want)
		}
		if values[:2][1] != "" {
			t.Errorf("%v changes the slice of the header", action)
		}
	}
	_, err := grpcheader.ReadChange(&corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: "x"}, AppendAction: 9})
	if err == nil || !strings.HasPrefix(err.Error(), `append_action = "9";`) {
		t.Errorf("an unknown action: %v; want an error that names it", err)
	}
	_, err = grpcheader.ReadChange(&corev3.HeaderValueOption{})
	if err == nil || !strings.HasPrefix(err.Error(), `header.key = "";`) {
		t.Errorf("no header: %v; want an error that names the key", err)
	}
}

// The rules decide by the whole name. Invalid changes are errors, allowed or not.
func TestRules(t *testing.T) {
	re := func(s string) *matcherv3.RegexMatcher { return &matcherv3.RegexMatcher{Regex: s} }
	yes := wrapperspb.Bool(true)
	for _, tt := range []struct {
		rules *mutationv3.HeaderMutationRules
		want  string
	}{
		{nil, "x-a x-b"},
		{&mutationv3.HeaderMutationRules{DisallowAll: yes}, ""},
		{&mutationv3.HeaderMutationRules{DisallowAll: yes, AllowExpression: re("x-a")}, ""},
		{&mutationv3.HeaderMutationRules{AllowExpression: re("x-a")}, "x-a"},
		{&mutationv3.HeaderMutationRules{AllowExpression: re("x-")}, ""},
		{&mutationv3.HeaderMutationRules{DisallowExpression: re("x-a")}, "x-b"},
		{&mutationv3.HeaderMutationRules{AllowExpression: re("x-.*"), DisallowExpression: re(".*b")}, "x-a"},
		{&mutationv3.HeaderMutationRules{DisallowExpression: re("x-b"), DisallowIsError: yes}, "!"},
		{&mutationv3.HeaderMutationRules{DisallowAll: yes, DisallowIsError: yes}, "!"},
		{&mutationv3.HeaderMutationRules{DisallowIsError: yes}, "x-a x-b"},
	} {
		var v resource.Violations
		r := grpcheader.ReadRules(nil, resource.Path{}, tt.rules, &v)
		if v.Err() != nil {
			t.Fatal(v.Err())
		}
		changes, err := r.Changes([]*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "x-a"}}, {Header: &corev3.HeaderValue{Key: "x-b"}}})
		names, removed := r.Removals([]string{"x-a", "x-b"})
		got := ""
		for _, c := range changes {
			got = strings.TrimSpace(got + " " + c.Name)
		}
		if tt.want == "!" {
			if !errors.Is(err, grpcheader.ErrDisallowed) || !errors.Is(removed, grpcheader.ErrDisallowed) {
				t.Errorf("%v: %v, %v; want ErrDisallowed", tt.rules, err, removed)
			}
			continue
		}
		if err != nil || removed != nil || got != tt.want || strings.Join(names, " ") != tt.want {
			t.Errorf("%v: %q, %v, removals %q, %v; want %q", tt.rules, got, err, names, removed, tt.want)
		}
	}
	none := grpcheader.Rules{DisallowAll: true}
	if _, err := none.Changes([]*corev3.HeaderValueOption{{Header: &corev3.HeaderValue{Key: "host"}}}); err == nil {
		t.Error("an invalid change that is not allowed: no error")
	}
	if _, err := none.Removals([]string{":path"}); err == nil {
		t.Error("an invalid removal that is not allowed: no error")
	}
	var v resource.Violations
	grpcheader.ReadRules(nil, (*resource.Path)(nil).Field("rules"), &mutationv3.HeaderMutationRules{AllowExpression: re("("), DisallowExpression: re("[")}, &v)
	if err := v.Err(); err == nil || !strings.Contains(err.Error(), "rules.allow_expression.regex") || !strings.Contains(err.Error(), "rules.disallow_expression.regex") {
		t.Errorf("invalid expressions: %v; want both", err)
	}
}

// Disallowed headers have precedence over allowed ones. An empty list is an unset one.
func TestSelection(t *testing.T) {
	exact := func(s string) []matcher.String { return []matcher.String{{Kind: matcher.Exact, Text: s}} }
	md := map[string][]string{"x-a": {"1", "2"}, "x-b": {"3"}}
	for _, tt := range []struct {
		selection grpcheader.Selection
		want      int
	}{
		{grpcheader.Selection{}, 3},
		{grpcheader.Selection{Allowed: exact("x-a")}, 2},
		{grpcheader.Selection{Disallowed: exact("x-a")}, 1},
		{grpcheader.Selection{Allowed: exact("x-a"), Disallowed: exact("x-a")}, 0},
	} {
		if got := tt.selection.Headers(md).GetHeaders(); len(got) != tt.want {
			t.Errorf("%+v selects %v; want %d headers", tt.selection, got, tt.want)
		}
	}
	var v resource.Violations
	p := (*resource.Path)(nil).Field("allowed_headers")
	list := grpcheader.ReadNames(nil, p, &matcherv3.ListStringMatcher{Patterns: []*matcherv3.StringMatcher{
		{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: "x-"}}, {},
	}}, &v)
	if err := v.Err(); err == nil || !strings.Contains(err.Error(), "allowed_headers.patterns[1].match_pattern") {
		t.Errorf("ReadNames = %v, %v; want an error that names the second pattern", list, err)
	}
}

// TestValue expects the value of a header as matchers see it, or "!" if it is absent (A41).
func TestValue(t *testing.T) {
	md := map[string][]string{
		"a": {"1"}, "b": {"1", "2"}, "c-bin": {"\xff", "a"}, ":authority": {"h"}, "te": {"trailers"}, "connection": {"x"}, "upgrade": {"x"}, "d": {},
	}
	for name, want := range map[string]string{
		"a": "1", "b": "1,2", "c-bin": "/w,YQ", "host": "h", ":authority": "h", ":method": "POST", ":path": "/s/m",
		"te": "!", "connection": "!", "upgrade": "!", "d": "!", "missing": "!",
	} {
		got, there := grpcheader.Value("/s/m", md, name)
		if !there {
			got += "!"
		}
		if got != want {
			t.Errorf("the header %s is %q, want %q", name, got, want)
		}
	}
}
