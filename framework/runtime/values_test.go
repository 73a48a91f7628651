package runtime_test

import (
	"encoding/json"
	"errors"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
)

const message = "envoy.config.core.v3.Node"

// shown is an update with a field of every form.
type shown struct {
	resource.Meta

	Face     face
	Anything any
	LBPolicy resource.LBConfig
	SANs     []string
	IPset    string
	Many     []leaf
	ByName   map[string]leaf
	Wait     time.Duration
	Present  *uint32
	Pattern  *regexp.Regexp
	Prefix   netip.Prefix
	Body     []byte
	Node     *corev3.Node
	Err      error
	Share    float64
	Self     *shown
	Secret   string            `xds:"secret"`
	Left     string            `json:"-"`
	Named    string            `json:"other_name"`
	hidden   []string          `xds:"shown=Hidden"`
	private  string            // not shown
	Func     func()            // not shown
	Loud     panics            // its method panics
	Broken   brokenJSON        // is not JSON
	Sealed   sealed            // has no fields to show
	Opaque   struct{ n int }   // not shown
	Empty    *struct{}         // shown as an empty object
	Number   map[uint32]string // keys that are not strings
}

type face interface{ isFace() }

type leaf struct{ ID string }

func (leaf) isFace() {}

type leaves []leaf

func (leaves) isFace() {}

type dictionary map[string]string

func (dictionary) isFace() {}

type identifier string

func (identifier) isFace() {}

type closed struct{ n int }

func (closed) isFace() {}

type nested struct{ Face face }

func (nested) isFace() {}

type panics struct{ N int }

func (panics) MarshalJSON() ([]byte, error) { panic("no") }

type brokenJSON struct{ N int }

func (brokenJSON) MarshalJSON() ([]byte, error) { return []byte("{"), nil }

type sealed struct{ n int }

func (s sealed) MarshalJSON() ([]byte, error) { return []byte(`"sealed"`), nil }

// numbers returns a map with n entries.
func numbers(n uint32) map[uint32]string {
	m := make(map[uint32]string)
	for i := range n {
		m[i] = ""
	}
	return m
}

// deep returns updates in one another: one, and n more.
func deep(n int) *shown {
	u := new(shown)
	for range n {
		u = &shown{Self: u}
	}
	return u
}

func meta(t *testing.T) resource.Meta {
	t.Helper()
	server, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: "xds.example:443", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}})
	if err != nil {
		t.Fatal(err)
	}
	dc := &resource.DecodeContext{Version: "7", Server: server}
	if dc.Name, err = dc.ParseName("checkout"); err != nil {
		t.Fatal(err)
	}
	return dc.Meta(nil)
}

// The text and the JSON show every form of field.
func TestForms(t *testing.T) {
	one := uint32(0)
	for _, tt := range []struct {
		u          shown
		text, json string
	}{
		{shown{}, `{}`, `{}`},
		{shown{Face: leaf{"x"}}, `{Face: leaf{ID: "x"}}`, `{"face":{"leaf":{"id":"x"}}}`},
		{shown{Face: &leaf{"x"}}, `{Face: leaf{ID: "x"}}`, `{"face":{"leaf":{"id":"x"}}}`},
		{shown{Face: leaves{{"x"}}}, `{Face: leaves[{ID: "x"}]}`, `{"face":{"leaves":[{"id":"x"}]}}`},
		{shown{Face: dictionary{"a": "b"}}, `{Face: dictionary{"a": "b"}}`, `{"face":{"dictionary":{"a":"b"}}}`},
		{shown{Face: identifier("x")}, `{Face: identifier "x"}`, `{"face":{"identifier":"x"}}`},
		{shown{Face: closed{1}}, `{Face: closed{}}`, `{"face":{"closed":{}}}`},
		{shown{Many: make([]leaf, 8)}, `{Many: [{}, {}, {}, {}, {}, {}, {}, {}]}`, `{"many":[{},{},{},{},{},{},{},{}]}`},
		{shown{Number: numbers(8)}, `{Number: {"0": "", "1": "", "2": "", "3": "", "4": "", "5": "", "6": "", "7": ""}}`, `{"number":{"0":"","1":"","2":"","3":"","4":"","5":"","6":"","7":""}}`},
		{shown{Number: numbers(9)}, `{Number: 9 entries}`, `{"number":{"0":"","1":"","2":"","3":"","4":"","5":"","6":"","7":"","8":""}}`},
		{shown{Self: deep(2)}, `{Self: {Self: {Self: {}}}}`, `{"self":{"self":{"self":{}}}}`},
		{shown{Self: deep(3)}, `{Self: {Self: {Self: {Self: {…}}}}}`, `{"self":{"self":{"self":{"self":{}}}}}`},
		{shown{Anything: resource.Metadatum{Message: "m"}}, `{Anything: resource.Metadatum{Message: "m"}}`, `{"anything":{"resource.Metadatum":{"message":"m"}}}`},
		{shown{Anything: map[string]any{"b": 1.5, "a": nil}}, `{Anything: {"a": {}, "b": 1.5}}`, `{"anything":{"a":null,"b":1.5}}`},
		{shown{Anything: netip.MustParseAddr("::1")}, `{Anything: ::1}`, `{"anything":"::1"}`},
		{shown{LBPolicy: resource.LBConfig{Name: "rr", Config: "{}"}}, `{LBPolicy: {Name: "rr", Config: "{}"}}`, `{"lbPolicy":[{"rr":{}}]}`},
		{shown{LBPolicy: resource.LBConfig{Name: "rr", Config: "no"}}, `{LBPolicy: {Name: "rr", Config: "no"}}`, `{"lbPolicy":"[{\"rr\":no}]"}`},
		{shown{SANs: []string{"a\nb"}}, `{SANs: ["a\nb"]}`, `{"sans":["a\nb"]}`},
		{shown{IPset: "x"}, `{IPset: "x"}`, `{"iPset":"x"}`}, // a word that begins with s is no plural
		{shown{Sealed: sealed{1}}, `{Sealed: "sealed"}`, `{"sealed":"sealed"}`},
		{shown{Many: make([]leaf, 9)}, `{Many: 9 × leaf}`, `{"many":[{},{},{},{},{},{},{},{},{}]}`},
		{shown{ByName: map[string]leaf{"b": {"2"}, "a": {"1"}}}, `{ByName: {"a": {ID: "1"}, "b": {ID: "2"}}}`, `{"byName":{"a":{"id":"1"},"b":{"id":"2"}}}`},
		{shown{Wait: time.Second}, `{Wait: 1s}`, `{"wait":"1s"}`},
		{shown{Present: &one}, `{Present: 0}`, `{"present":0}`},
		{shown{Pattern: regexp.MustCompile("^a$")}, `{Pattern: ^a$}`, `{"pattern":"^a$"}`},
		{shown{Prefix: netip.MustParsePrefix("10.0.0.0/8")}, `{Prefix: 10.0.0.0/8}`, `{"prefix":"10.0.0.0/8"}`},
		{shown{Body: []byte("abc")}, `{Body: 3 bytes}`, `{"body":"3 bytes"}`},
		{shown{Node: &corev3.Node{Id: "secret"}}, `{Node: envoy.config.core.v3.Node of 8 bytes}`, `{"node":{"message":"envoy.config.core.v3.Node","bytes":8}}`},
		{shown{Err: errors.New("no")}, `{Err: no}`, `{"err":"no"}`},
		{shown{Share: math.NaN()}, `{Share: NaN}`, `{"share":"NaN"}`},
		{shown{Secret: "pass", Left: "out", private: "x", Func: func() {}}, `{Secret: <secret>}`, `{"secret":"\u003csecret\u003e"}`},
		{shown{Named: "x"}, `{Named: "x"}`, `{"other_name":"x"}`},
		{shown{hidden: []string{"a"}}, `{Hidden: ["a"]}`, `{"hidden":["a"]}`},
		{shown{Loud: panics{1}}, `{Loud: {N: 1}}`, `{"loud":null}`},
		{shown{Broken: brokenJSON{1}}, `{Broken: {N: 1}}`, `{"broken":"{"}`},
		{shown{Empty: &struct{}{}}, `{Empty: {}}`, `{"empty":{}}`},
		{shown{Number: map[uint32]string{10: "b", 9: "a"}}, `{Number: {"10": "b", "9": "a"}}`, `{"number":{"10":"b","9":"a"}}`},
	} {
		tt.u.Meta = meta(t)
		if got, want := runtime.Format(&tt.u), `"checkout" version "7" `+tt.text; got != want {
			t.Errorf("text\n%s, want\n%s", got, want)
		}
		got, err := runtime.MarshalJSON(message, &tt.u)
		want := `{"type":"envoy.config.core.v3.Node","name":"checkout","version":"7","server":"xds.example:443","value":` + tt.json + `}`
		if string(got) != want || err != nil {
			t.Errorf("JSON, error %v\n%s, want\n%s", err, got, want)
		}
	}
}

// The output clips a value that contains itself, and a huge one.
func TestBounds(t *testing.T) {
	u := &shown{Meta: meta(t), SANs: slices.Repeat([]string{strings.Repeat("é", 1000)}, 8)}
	for range 200 {
		u = &shown{Self: u, SANs: u.SANs}
	}
	u.Self.Self.Self.Self.Self.Self.Self.Self.Self.Self.Self = u
	text := runtime.Format(u)
	if len(text) > 4<<10+len("…") || !strings.HasSuffix(text, "…") {
		t.Errorf("%d bytes of text that end with %q; want 4 KiB and a mark", len(text), text[len(text)-10:])
	}
	if b, err := runtime.MarshalJSON(message, u); err != nil || !json.Valid(b) || !strings.Contains(string(b), `"self":"…"`) {
		t.Errorf("JSON of a value that holds itself: error %v, %d bytes", err, len(b))
	}
}

// Nil and literal updates have a text, JSON and a log value.
func TestNothing(t *testing.T) {
	for _, tt := range []struct {
		u               resource.Update
		text, json, log string
	}{
		{nil, "<nil>", "null", "<nil>"},
		{(*shown)(nil), "<nil>", "null", "<nil>"},
		{new(shown), "{}", `{"type":"envoy.config.core.v3.Node","value":{}}`, "[name= version=]"},
		{&shown{Meta: meta(t)}, `"checkout" version "7" {}`, `{"type":"envoy.config.core.v3.Node","name":"checkout","version":"7","server":"xds.example:443","value":{}}`, "[name=checkout version=7 server=xds.example:443]"},
	} {
		if got := runtime.Format(tt.u); got != tt.text {
			t.Errorf("Format = %s, want %s", got, tt.text)
		}
		if got, err := runtime.MarshalJSON(message, tt.u); string(got) != tt.json || err != nil {
			t.Errorf("MarshalJSON = %s, %v; want %s", got, err, tt.json)
		}
		if got := runtime.LogValue(tt.u).String(); got != tt.log {
			t.Errorf("LogValue = %s, want %s", got, tt.log)
		}
	}
}

// Each form that can contain itself is clipped: maps, lists, named cases of interfaces, and pointers.
func TestCycles(t *testing.T) {
	mapping := make(map[string]any)
	mapping["m"] = mapping
	list := []any{nil}
	list[0] = list
	var cases face = nested{}
	for range 200 {
		cases = nested{cases}
	}
	for name, u := range map[string]*shown{
		"a map": {Anything: mapping}, "a list": {Anything: list}, "cases": {Face: cases}, "pointers": deep(200),
	} {
		u.Meta = meta(t)
		if got := runtime.Format(u); len(got) > 5<<10 || strings.Count(got, "{") > 60 {
			t.Errorf("%s: the text has %d bytes; want a few levels: %s", name, len(got), got)
		}
		got, err := runtime.MarshalJSON(message, u)
		if n := strings.Count(string(got), "…"); err != nil || !json.Valid(got) || n != 1 {
			t.Errorf("%s: %d clipped values, error %v in %s", name, n, err, got)
		}
	}
}
