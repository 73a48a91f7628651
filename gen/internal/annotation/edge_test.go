package annotation

import (
	"slices"
	"strings"
	"testing"
)

// TestEdges derives rules from annotations that are legal and unusual. Each expectation was compared with the verdicts of
// protovalidate or protoc-gen-validate. A value that a rule cannot have leaves a comment, and never an invalid rule.
func TestEdges(t *testing.T) {
	for _, c := range []struct{ name, field, want string }{
		{"bounds above int64", `uint64 a = 1 [(buf.validate.field).uint64 = {gte: 9223372036854775809, lt: 18446744073709551615}];`, `
{at: a, min: 9223372036854775809, why: protovalidate}
{at: a, below: 18446744073709551615, why: protovalidate}`},
		{
			"a range that excludes a value above the precision of a double", `uint64 a = 1 [(buf.validate.field).uint64 = {gt: 9223372036854775809, lt: 9223372036854775808}];`,
			"a: a range to exclude = (lt = 9223372036854775808 or gt = 9223372036854775809) is not expressed (protovalidate)",
		},
		{
			"a duration that excludes a range", `google.protobuf.Duration a = 1 [(buf.validate.field).duration = {gt: {seconds: 2}, lt: {seconds: 1}}];`,
			"a: a range to exclude = (lt = 1s or gt = 2s) is not expressed (protovalidate)",
		},
		{"a duration beyond those of Go", `google.protobuf.Duration a = 1 [(buf.validate.field).duration = {gt: {}, lt: {seconds: 315576000000}}];`, `
a: lt = 315576000000s is not expressed (protovalidate)
{at: a, above: 0s, why: protovalidate}`},
		{
			"durations in a list", `google.protobuf.Duration a = 1 [(buf.validate.field).duration = {in: [{seconds: 5}, {nanos: 7}]}];`,
			"a: in = [5s, 0.000000007s] is not expressed (protovalidate)",
		},
		{"infinite and no number", `double a = 1 [(buf.validate.field).double = {gt: nan}]; double b = 2 [(buf.validate.field).double = {lt: inf}]; double c = 3 [(buf.validate.field).double = {in: [nan, 1]}];`, `
a: gt = NaN is not expressed (protovalidate)
b: lt = +Inf is not expressed (protovalidate)
c: in = [NaN, 1] is not expressed (protovalidate)`},
		{"a bound that excludes NaN", `double a = 1 [(buf.validate.field).double.gt = 1]; double b = 2 [(buf.validate.field).cel = {expression: "this <= 2.0"}];`, `
a: NaN = excluded is not expressed (protovalidate)
{at: a, above: 1, why: protovalidate}
b: NaN = excluded is not expressed (protovalidate)
{at: b, max: 2.0, why: protovalidate}`},
		{"a size of zero and one without a limit", `string a = 1 [(buf.validate.field).string.len = 0]; string b = 2 [(buf.validate.field).string = {min_len: 9223372036854775808, max_len: 18446744073709551615}];`, `
{at: a, max_chars: 0, why: protovalidate}
b: min_len = 9223372036854775808 is not expressed (protovalidate)`},
		{"an option that is false", `string a = 1 [(buf.validate.field).string = {email: false, min_len: 1}];`, "{at: a, min_chars: 1, why: protovalidate}"},
		{"a value that is listed twice", `Color a = 1 [(buf.validate.field).enum = {in: [1, 1, 3]}]; string b = 2 [(buf.validate.field).string.in = "b", (buf.validate.field).string.in = "b"];`, `
{at: a, in: [COLOR_RED, "null"], why: protovalidate}
{at: b, in: ["b"], why: protovalidate}`},
		{"headers that are not strict", `string a = 1 [(buf.validate.field).string = {well_known_regex: NAME, strict: false}]; string b = 2 [(validate.rules).string = {well_known_regex: NAME, strict: false}];`, `
{at: b, matches: "^[^\\x00\\x0A\\x0D]*$", why: PGV}
{at: a, matches: "^[^\\x00\\x0A\\x0D]+$", why: protovalidate}`},
		{"a URI", `string a = 1 [(buf.validate.field).string.uri = true];`, `
a: uri beyond the syntax that package net/url checks = true is not expressed (protovalidate)
{at: a, as: url, why: protovalidate}`},
		{"zero values that are present", `optional string a = 1 [(validate.rules).string = {ignore_empty: true, min_len: 2}]; optional string b = 2 [(buf.validate.field).ignore = IGNORE_IF_ZERO_VALUE, (buf.validate.field).string.min_len = 2];`, `
a: min_chars = 2 unless zero is not expressed (PGV)
{at: b, min_chars: 2, why: protovalidate}`},
		{"fields with the names of bools and nothing", `string true = 1 [(buf.validate.field).string.min_len = 1]; Color False = 2 [(buf.validate.field).required = true]; string null = 3 [(buf.validate.field).cel = {expression: "this != 'a'"}];`, `
{at: "true", min_chars: 1, why: protovalidate}
{at: "False", required: true, why: protovalidate}
{at: "null", not_in: 'a', why: protovalidate}`},
		{"bytes that are unique", `repeated bytes a = 1 [(buf.validate.field).repeated = {unique: true}];`, "a: unique = true is not expressed (protovalidate)"},
		{"types of an Any", `google.protobuf.Any a = 1 [(buf.validate.field).any = {in: ["a.com/acme.Thing", "b.com/acme.Thing"]}]; google.protobuf.Any b = 2 [(buf.validate.field).any = {not_in: "a.com/acme.Thing"}];`, `
a: the part of a type URL before the type in in = ["a.com/acme.Thing", "b.com/acme.Thing"] is not expressed (protovalidate)
{at: a, any_type: [acme.Thing], why: protovalidate}
b: not_in = ["a.com/acme.Thing"] is not expressed (protovalidate)`},
		{"expressions that compare otherwise than rules", `
string a = 1 [(buf.validate.field).cel = {expression: "this >= 'b'"}];
uint64 b = 2 [(buf.validate.field).cel = {expression: "this >= 0u"}];
float c = 3 [(buf.validate.field).cel = {expression: "this == 0.1"}];
float d = 4 [(buf.validate.field).cel = {expression: "this == 0.5"}];
string e = 5 [(buf.validate.field).cel = {expression: "size(this) == -1"}];
map<string, bytes> f = 6 [(buf.validate.field).map = {keys: {cel: {expression: "size(this) >= 2"}}, values: {cel: {expression: "size(this) >= 2"}}}];
google.protobuf.Any g = 7 [(buf.validate.field).cel = {expression: "has(this.type_url)"}];
uint64 h = 8 [(buf.validate.field).cel = {expression: "this == 1u || this == 1u"}];
uint64 i = 9 [(buf.validate.field).cel = {expression: "this > -1"}];
`, `
a: cel = this >= 'b' is not expressed (protovalidate)
b: cel = this >= 0u is not expressed (protovalidate)
c: cel = this == 0.1 is not expressed (protovalidate)
{at: d, in: 0.5, why: protovalidate}
e: cel = size(this) == -1 is not expressed (protovalidate)
{at: f.key, min_chars: 2, why: protovalidate}
f.value: cel of elements = size(this) >= 2 is not expressed (protovalidate)
g: cel = has(this.type_url) is not expressed (protovalidate)
{at: h, in: [1], why: protovalidate}
i: cel = this > -1 is not expressed (protovalidate)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules := derived(t, "acme.Thing", `syntax = "proto3";
package acme;
import "buf/validate/validate.proto";
import "validate/validate.proto";
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
option go_package = "acme.test/acme";
enum Color { COLOR_UNSPECIFIED = 0; COLOR_RED = 1; null = 3; }
message Thing { `+c.field+` }`)
			var got []string
			for _, r := range rules {
				got = append(got, r.Line+r.Comment)
			}
			if want := strings.Split(strings.TrimSpace(c.want), "\n"); !slices.Equal(got, want) {
				t.Errorf("rules:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// TestPredefined derives the rules of extensions of the messages of rules. An option that no proto file declares is not
// dropped.
func TestPredefined(t *testing.T) {
	rules := derived(t, "acme.Thing", `syntax = "proto2";
package acme;
import "buf/validate/validate.proto";
option go_package = "acme.test/acme";
extend buf.validate.StringRules {
  optional bool slug = 1100 [(buf.validate.predefined).cel = {expression: "!rule || this.matches('^[a-z-]+$')"}];
  optional uint32 shortest = 1101 [(buf.validate.predefined) = {cel: {expression: "size(this) >= 2"}, cel: {expression: "this != 'rule' || size(this) > rule"}}];
  optional bool odd = 1102;
}
extend buf.validate.UInt32Rules {
  optional uint32 about = 1100 [(buf.validate.predefined).cel = {expression: "this <= rule && this > 1"}];
  repeated uint32 among = 1101 [(buf.validate.predefined).cel = {expression: "this in rule"}];
}
message Thing {
  optional string name = 1 [(buf.validate.field).string = {[acme.slug]: true, min_len: 1}];
  optional uint32 size = 2 [(buf.validate.field).uint32.(about) = 9];
  optional uint32 count = 3 [(buf.validate.field).uint32 = {[acme.among]: [1, 2]}];
  repeated string tags = 4 [(buf.validate.field).repeated.items.string.(shortest) = 3];
  optional string kind = 5 [(buf.validate.field).string.(odd) = true];
}
`)
	var got, origins []string
	for _, r := range rules {
		got = append(got, r.Line+r.Comment)
		origins = append(origins, r.Origin)
		if strings.Contains(r.Comment, "matches") && r.CEL != "!true || this.matches('^[a-z-]+$')" {
			t.Errorf("the expression for a hook is %s", r.CEL)
		}
	}
	want := []string{
		"{at: name, min_chars: 1, why: protovalidate}",
		"name: predefined rule acme.slug = true, cel = !true || this.matches('^[a-z-]+$') is not expressed (protovalidate)",
		"{at: size, max: 9, why: protovalidate}",
		"{at: size, above: 1, why: protovalidate}",
		"count: predefined rule acme.among = [1, 2], cel = this in rule is not expressed (protovalidate)",
		"tags: predefined rule acme.shortest = 3, cel of elements = size(this) >= 2 is not expressed (protovalidate)",
		"tags: predefined rule acme.shortest = 3, cel of elements = this != 'rule' || size(this) > rule is not expressed (protovalidate)",
		"kind: predefined rule acme.odd = true, cel = unknown is not expressed (protovalidate)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if i := slices.Index(origins, "string.(acme.slug) (protovalidate) of acme.Thing.name"); i != 1 {
		t.Errorf("origins:\n%s\nwant that of acme.slug at 1", strings.Join(origins, "\n"))
	}
}

// TestUnreadable tells options whose messages are unknown or have another form.
func TestUnreadable(t *testing.T) {
	got := derivedFrom(t, "acme.Thing", strings.NewReplacer("optional UInt32Rules uint32 = 5;", "").Replace(bufValidate), `syntax = "proto3";
package acme;
import "buf/validate/validate.proto";
option go_package = "acme.test/acme";
message Thing { uint32 size = 1 [(buf.validate.field).uint32.lte = 7]; }
`)
	if len(got) != 1 || got[0].Comment != "size: option 5 of buf.validate.FieldRules, which its proto file does not declare, = set is not expressed (protovalidate)" {
		t.Errorf("rules %+v", got)
	}
	got = derivedFrom(t, "acme.Thing", strings.NewReplacer("extend google.protobuf.OneofOptions { optional OneofRules oneof = 1159; }", "").Replace(bufValidate), `syntax = "proto3";
package acme;
import "buf/validate/validate.proto";
option go_package = "acme.test/acme";
message Thing { oneof pick { option (buf.validate.oneof).required = true; string a = 1; } }
`)
	if len(got) != 1 || !strings.Contains(got[0].Comment, "pick: the option, which cannot be read") {
		t.Errorf("rules %+v", got)
	}
}
