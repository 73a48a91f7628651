package resource

import (
	"math"
	"strings"
	"testing"

	_ "github.com/envoyproxy/go-control-plane/envoy/config/core/v3" // registers the messages of the rules
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"
)

// TestRules checks values by each rule of protoc-gen-validate, at its edges.
func TestRules(t *testing.T) {
	duration := func(seconds int64, nanos int32) any {
		return (&durationpb.Duration{Seconds: seconds, Nanos: nanos}).ProtoReflect()
	}
	for _, tt := range []struct {
		kind, rules string
		good, bad   []any
	}{
		{"String", `len: 2`, []any{"ab", "ää"}, []any{"a", "abc", "ä"}},
		{"String", `min_len: 2`, []any{"ää", "abc"}, []any{"ä"}},
		{"String", `max_len: 2`, []any{"ää", ""}, []any{"abc"}},
		{"String", `len_bytes: 2`, []any{"ab", "ä"}, []any{"ää", "a"}},
		{"String", `min_bytes: 2`, []any{"ä", "abc"}, []any{"a"}},
		{"String", `max_bytes: 2`, []any{"ä", "a"}, []any{"aä"}},
		{"String", `prefix: "a"`, []any{"ab"}, []any{"ba", ""}},
		{"String", `suffix: "a"`, []any{"ba"}, []any{"ab"}},
		{"String", `contains: "b"`, []any{"abc"}, []any{"ac"}},
		{"String", `not_contains: "b"`, []any{"ac"}, []any{"abc"}},
		{"String", `pattern: "^a+$"`, []any{"aa"}, []any{"ab"}},
		{"String", `pattern: "("`, nil, []any{"("}},
		{"String", `const: "a"`, []any{"a"}, []any{"b", ""}},
		{"String", `in: "a" in: "b"`, []any{"a", "b"}, []any{"c"}},
		{"String", `not_in: "a"`, []any{"b"}, []any{"a"}},
		{"String", `min_len: 2 ignore_empty: true`, []any{"", "ab"}, []any{"a"}},
		{"String", `well_known_regex: HTTP_HEADER_NAME`, []any{"x-a", ":path"}, []any{"x a", "", "a\n"}},
		{"String", `well_known_regex: HTTP_HEADER_NAME strict: false`, []any{"x a", ""}, []any{"a\n", "a\x00"}},
		{"String", `well_known_regex: HTTP_HEADER_VALUE`, []any{"a\tb", ""}, []any{"a\x01", "\x7f"}},
		{"String", `well_known_regex: HTTP_HEADER_VALUE strict: false`, []any{"a\x01"}, []any{"a\r"}},
		{"String", `well_known_regex: UNKNOWN`, []any{"\x00"}, nil},
		{"String", `email: true`, []any{"a@b.example"}, []any{"a"}},
		{"String", `email: false`, []any{"a"}, nil},
		{"String", `hostname: true`, []any{"a.example", strings.Repeat("a.", 126) + "a"}, []any{"-a", "a_b", strings.Repeat("a.", 127)}},
		{"String", `ip: true`, []any{"1.2.3.4", "::1"}, []any{"a"}},
		{"String", `ipv4: true`, []any{"1.2.3.4"}, []any{"::1", "a"}},
		{"String", `ipv6: true`, []any{"::1"}, []any{"1.2.3.4", "a"}},
		{"String", `address: true`, []any{"a.example", "::1"}, []any{"a b"}},
		{"String", `uri: true`, []any{"http://a/b"}, []any{"/b", "http://a b"}},
		{"String", `uri_ref: true`, []any{"/b"}, []any{":b"}},
		{"String", `uuid: true`, []any{"01234567-89ab-cdef-0123-456789ABCDEF"}, []any{"0123"}},
		{"Bytes", `len: 2`, []any{[]byte("ä")}, []any{[]byte("ää")}},
		{"Bytes", `prefix: "a"`, []any{[]byte("ab")}, []any{[]byte("ba")}},
		{"Bytes", `const: "a"`, []any{[]byte("a")}, []any{[]byte("b")}},
		{"Bytes", `min_len: 1 ignore_empty: true`, []any{[]byte(nil), []byte("a")}, nil},
		{"UInt32", `gte: 1 lte: 3`, []any{uint32(1), uint32(3)}, []any{uint32(0), uint32(4)}},
		{"UInt32", `gt: 1 lt: 3`, []any{uint32(2)}, []any{uint32(1), uint32(3)}},
		{"UInt32", `gt: 3 lt: 1`, []any{uint32(0), uint32(4)}, []any{uint32(1), uint32(2), uint32(3)}}, // outside of a range
		{"UInt32", `gte: 2 lte: 2`, []any{uint32(2)}, []any{uint32(1), uint32(3)}},
		{"UInt32", `gte: 1 ignore_empty: true`, []any{uint32(0)}, nil},
		{"Int64", `gte: -1`, []any{int64(-1)}, []any{int64(-2)}},
		{"Double", `lt: 1`, []any{0.5, math.Inf(-1)}, []any{1.0}},
		{"Bool", `const: true`, []any{true}, []any{false}},
		{"Enum", `in: 1 in: 2`, []any{protoreflect.EnumNumber(2)}, []any{protoreflect.EnumNumber(3)}},
		{"Duration", `gt { seconds: 1 }`, []any{duration(1, 1), duration(2, 0)}, []any{duration(1, 0), duration(0, 9)}},
	} {
		typ, err := protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName("validate." + tt.kind + "Rules"))
		if err != nil {
			t.Fatal(err)
		}
		rules := dynamicpb.NewMessage(typ.Descriptor())
		if err := prototext.Unmarshal([]byte(tt.rules), rules); err != nil {
			t.Fatal(err)
		}
		broken := func(x any) bool {
			var v Violations
			new(annotations).scalar(&v, Path{}, nil, protoreflect.ValueOf(x), rules)
			return v.Err() != nil
		}
		for _, x := range tt.good {
			if broken(x) {
				t.Errorf("%s: %v breaks the rule", tt.rules, x)
			}
		}
		for _, x := range tt.bad {
			if !broken(x) {
				t.Errorf("%s: %v follows the rule", tt.rules, x)
			}
		}
	}
}
