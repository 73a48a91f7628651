package annotation

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/linker"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
)

// bufValidate is the part of protovalidate's options that the tests need.
const bufValidate = `syntax = "proto2";
package buf.validate;
import "google/protobuf/descriptor.proto";
import "google/protobuf/duration.proto";
option go_package = "buf.test/validate";
extend google.protobuf.MessageOptions { optional MessageRules message = 1159; }
extend google.protobuf.FieldOptions { optional FieldRules field = 1159; optional PredefinedRules predefined = 1160; }
extend google.protobuf.OneofOptions { optional OneofRules oneof = 1159; }
message OneofRules { optional bool required = 1; }
message PredefinedRules { repeated Rule cel = 1; }
message Rule { optional string id = 1; optional string expression = 3; }
message MessageRules { optional bool disabled = 1; repeated Rule cel = 3; repeated MessageOneofRule oneof = 4; optional bool required = 25; optional Ignore ignore = 27; }
message MessageOneofRule { repeated string fields = 1; optional bool required = 2; }
enum Ignore { IGNORE_UNSPECIFIED = 0; IGNORE_IF_ZERO_VALUE = 1; IGNORE_IF_DEFAULT_VALUE = 2; IGNORE_ALWAYS = 3; }
message FieldRules {
  optional DoubleRules double = 2;
  optional UInt32Rules uint32 = 5;
  optional UInt64Rules uint64 = 6;
  optional StringRules string = 14;
  optional EnumRules enum = 16;
  optional AnyRules any = 20;
  optional DurationRules duration = 21;
  optional RepeatedRules repeated = 18;
  optional MapRules map = 19;
  repeated Rule cel = 23;
  optional bool required = 25;
  optional Ignore ignore = 27;
}
message RepeatedRules { optional bool unique = 3; optional FieldRules items = 4; }
message MapRules { optional FieldRules keys = 4; optional FieldRules values = 5; }
message DoubleRules { optional double lt = 2; optional double gt = 4; repeated double in = 6; }
message UInt32Rules { optional uint32 lte = 3; extensions 1000 to max; }
message UInt64Rules { optional uint64 lt = 2; optional uint64 gt = 4; optional uint64 gte = 5; }
message StringRules {
  optional uint64 min_len = 2; optional uint64 max_len = 3; repeated string in = 10; optional bool email = 12; optional bool uri = 17;
  optional uint64 len = 19; optional Regex well_known_regex = 24; optional bool strict = 25; extensions 1000 to max;
}
enum Regex { UNSPECIFIED = 0; NAME = 1; VALUE = 2; }
message EnumRules { repeated int32 in = 3; }
message AnyRules { repeated string in = 2; repeated string not_in = 3; }
message DurationRules { optional google.protobuf.Duration lt = 3; optional google.protobuf.Duration gt = 5; repeated google.protobuf.Duration in = 7; }
`

// pgv is the part of protoc-gen-validate's options that the tests need.
const pgv = `syntax = "proto2";
package validate;
import "google/protobuf/descriptor.proto";
option go_package = "pgv.test/validate";
extend google.protobuf.MessageOptions { optional bool disabled = 1071; }
extend google.protobuf.FieldOptions { optional FieldRules rules = 1071; }
message FieldRules { optional StringRules string = 14; optional MessageRules message = 17; optional RepeatedRules repeated = 18; }
enum Regex { UNSPECIFIED = 0; NAME = 1; VALUE = 2; }
message StringRules { optional uint64 min_len = 2; optional Regex well_known_regex = 24; optional bool strict = 25; optional bool ignore_empty = 26; }
message MessageRules { optional bool skip = 1; optional bool required = 2; }
message RepeatedRules { optional FieldRules items = 4; }
`

// derived returns the rules of a message of a proto file that can import bufValidate, and its comments.
func derived(t *testing.T, message, source string) []Rule {
	t.Helper()
	return derivedFrom(t, message, bufValidate, source)
}

// derivedFrom is derived with another text of protovalidate's options in the descriptor set.
func derivedFrom(t *testing.T, message, described, source string) []Rule {
	t.Helper()
	const path = "buf/validate/validate.proto"
	compile := func(options, file string) []linker.File {
		files, err := (&protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			Accessor: protocompile.SourceAccessorFromMap(map[string]string{path: options, "validate/validate.proto": pgv, "acme.proto": source}),
		})}).Compile(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		return files
	}
	set, added := new(descriptorpb.FileDescriptorSet), make(map[string]bool)
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if added[f.Path()] {
			return
		}
		added[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i))
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	add(compile(described, path)[0])
	add(compile(bufValidate, "acme.proto")[0])
	data, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	index, err := protoindex.Load(t.Context(), protoindex.Config{Dir: ".", Sets: [][]byte{data}, Wants: []protoindex.Want{{Message: message}}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.Message(message)
	if err != nil {
		t.Fatal(err)
	}
	return Derive(m, Depth, index)
}

// Options of whole messages become rules where their form allows it. Fields of a oneof of protovalidate
// have no other rules while they are empty.
func TestMessages(t *testing.T) {
	rules := derived(t, "acme.Thing", `syntax = "proto3";
package acme;
import "buf/validate/validate.proto";
option go_package = "acme.test/acme";
enum Color { COLOR_UNSPECIFIED = 0; COLOR_RED = 1; COLOR_BLUE = 2; }
message Thing {
  option (buf.validate.message).cel = {expression: "has(this.part) && size(this.tags) > 0 && this.count <= 9u"};
  option (buf.validate.message).cel = {expression: "this.count > 1 || has(this.part)"};
  option (buf.validate.message).cel = {expression: "this.maybe > 1"};
  option (buf.validate.message).cel = {expression: "this.count < this.limit &&\n  this.limit > 1"};
  option (buf.validate.message).cel = {expression: "has(this.left)"};
  option (buf.validate.message).oneof = {fields: ["word", "text"], required: true};
  option (buf.validate.message).oneof = {fields: ["limit", "count"]};
  Part part = 1;
  repeated string tags = 2;
  uint32 count = 3;
  optional uint32 maybe = 4;
  uint32 limit = 5 [(buf.validate.field).uint32.lte = 7];
  string word = 6 [(buf.validate.field).string.min_len = 2];
  string text = 7;
  Color color = 8 [(buf.validate.field).cel = {expression: "this == 1 || this == 2"}];
  Color shade = 9 [(buf.validate.field).cel = {expression: "this != 0 && this > 1"}];
  repeated Part parts = 10;
  Part free = 11 [(buf.validate.field).ignore = IGNORE_ALWAYS];
  uint32 odd = 12 [(buf.validate.field).cel = {expression: "this == 1 || this == 2 && this > 1"}];
  oneof side { string left = 13; string right = 14; }
  Thing again = 15;
}
message Part {
  option (buf.validate.message).cel = {expression: "this.name != this.title"};
  option (buf.validate.message).oneof = {fields: ["name", "title"], required: true};
  string name = 1;
  string title = 2 [(buf.validate.field).cel = {expression: "this.startsWith('a')"}];
}
`)
	var got, hooks []string
	for _, r := range rules {
		got = append(got, r.Line+r.Comment)
		if r.CEL != "" {
			hooks = append(hooks, string(r.Message.Desc.Name())+" at "+r.In+", field "+r.Field)
		}
	}
	want := []string{
		"{at: limit, max: 7, when: {present: limit}, why: protovalidate}",
		"{at: word, min_chars: 2, when: {present: word}, why: protovalidate}",
		"{at: color, in: [COLOR_RED, COLOR_BLUE], why: protovalidate}",
		"shade: cel = this != 0 && this > 1 is not expressed (protovalidate)",
		"odd: cel = this == 1 || this == 2 && this > 1 is not expressed (protovalidate)",
		"{at: part, required: true, why: protovalidate}",
		"{at: tags, min_len: 1, why: protovalidate}",
		"{at: count, max: 9, why: protovalidate}",
		"Thing: cel = this.count > 1 || has(this.part) is not expressed (protovalidate)",
		"Thing: cel = this.maybe > 1 is not expressed (protovalidate)",
		"Thing: cel = this.count < this.limit && this.limit > 1 is not expressed (protovalidate)",
		"{at: left, required: true, why: protovalidate}",
		"{one_of: [word, text], why: protovalidate}",
		"Thing: oneof = [limit count] is not expressed (protovalidate)",
		"part.title: cel = this.startsWith('a') is not expressed (protovalidate)",
		"part: cel = this.name != this.title is not expressed (protovalidate)",
		"{at: part, one_of: [name, title], when: {present: part}, why: protovalidate}",
		"parts.title: cel = this.startsWith('a') is not expressed (protovalidate)",
		"parts: cel = this.name != this.title is not expressed (protovalidate)",
		"{at: parts, one_of: [name, title], why: protovalidate}",
		"again: the rules of Thing are not expressed (protovalidate)",
		"again, a Thing: {at: limit, max: 7, when: {present: limit}} is not expressed (protovalidate)",
		"again, a Thing: {at: word, min_chars: 2, when: {present: word}} is not expressed (protovalidate)",
		"again, a Thing: {at: color, in: [COLOR_RED, COLOR_BLUE]} is not expressed (protovalidate)",
		"again, a Thing: shade: cel = this != 0 && this > 1 is not expressed (protovalidate)",
		"again, a Thing: odd: cel = this == 1 || this == 2 && this > 1 is not expressed (protovalidate)",
		"again, a Thing: {at: part, required: true} is not expressed (protovalidate)",
		"again, a Thing: {at: tags, min_len: 1} is not expressed (protovalidate)",
		"again, a Thing: {at: count, max: 9} is not expressed (protovalidate)",
		"again, a Thing: cel = this.count > 1 || has(this.part) is not expressed (protovalidate)",
		"again, a Thing: cel = this.maybe > 1 is not expressed (protovalidate)",
		"again, a Thing: cel = this.count < this.limit && this.limit > 1 is not expressed (protovalidate)",
		"again, a Thing: {at: left, required: true} is not expressed (protovalidate)",
		"again, a Thing: {one_of: [word, text]} is not expressed (protovalidate)",
		"again, a Thing: oneof = [limit count] is not expressed (protovalidate)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	wantHooks := []string{
		"Thing at , field shade", "Thing at , field odd", "Thing at , field ", "Thing at , field ", "Thing at , field ",
		"Part at part, field title", "Part at part, field ", "Part at parts, field title", "Part at parts, field ",
	}
	if !slices.Equal(hooks, wantHooks) {
		t.Errorf("hooks:\n%s\nwant:\n%s", strings.Join(hooks, "\n"), strings.Join(wantHooks, "\n"))
	}
}

// The libraries do not check what is disabled, ignored or skipped, each for itself. An absent value is not
// there, even if the other rules ignore it.
func TestIgnored(t *testing.T) {
	rules := derived(t, "acme.Thing", `syntax = "proto3";
package acme;
import "buf/validate/validate.proto";
import "validate/validate.proto";
option go_package = "acme.test/acme";
message Thing {
  option (buf.validate.message).oneof = {fields: ["one", "two"]};
  option (buf.validate.message).cel = {expression: "this.word == 'this.word'"};
  string one = 1 [(buf.validate.field).required = true];
  string two = 2;
  string three = 3 [(buf.validate.field).required = true, (buf.validate.field).ignore = IGNORE_IF_ZERO_VALUE];
  oneof side { Part left = 4 [(buf.validate.field).required = true]; Part right = 5 [(validate.rules).message.required = true]; }
  string word = 6;
  repeated Part parts = 8 [(buf.validate.field).repeated.items.ignore = IGNORE_ALWAYS];
  map<string, Part> table = 9 [(buf.validate.field).map.values.ignore = IGNORE_ALWAYS];
  repeated string texts = 10 [(buf.validate.field).repeated.items = {ignore: IGNORE_IF_ZERO_VALUE, string: {min_len: 2}}];
  repeated string words = 11 [(validate.rules).repeated.items.string = {ignore_empty: true, min_len: 2}];
  uint32 old = 12 [(buf.validate.field).ignore = IGNORE_IF_DEFAULT_VALUE, (buf.validate.field).uint32.lte = 7];
  optional string maybe = 13 [(buf.validate.field).ignore = IGNORE_IF_DEFAULT_VALUE, (buf.validate.field).string.min_len = 2];
  map<string, string> labels = 14 [(buf.validate.field).map.keys.cel = {expression: "this.startsWith('a')"}];
  Off off = 15;
  PGVOff pgv_off = 16;
  Part part = 17 [(validate.rules).message.skip = true];
}
message Off {
  option (buf.validate.message).disabled = true;
  string name = 1 [(buf.validate.field).string.min_len = 2];
  Part part = 2;
  oneof x { option (buf.validate.oneof).required = true; string a = 3; }
}
message PGVOff {
  option (validate.disabled) = true;
  Part part = 1;
}
message Part {
  string name = 1 [(buf.validate.field).string.min_len = 3, (validate.rules).string.min_len = 4];
}
`)
	var got []string
	for _, r := range rules {
		got = append(got, r.Line+r.Comment)
		if r.CEL == "this.startsWith('a')" && r.Field != "labels.key" {
			t.Errorf("the expression about keys is about %s", r.Field)
		}
	}
	want := []string{
		"words: min_chars of elements = 2 unless zero is not expressed (PGV)",
		"{at: one, required: true, why: protovalidate}",
		"{at: three, required: true, why: protovalidate}",
		"{at: left, required: true, why: protovalidate}",
		"texts: min_chars of elements = 2 unless zero is not expressed (protovalidate)",
		"{at: old, max: 7, when: {present: old}, why: protovalidate}",
		"maybe: min_chars = 2 unless zero is not expressed (protovalidate)",
		"labels.key: cel of elements = this.startsWith('a') is not expressed (protovalidate)",
		"Thing: cel = this.word == 'this.word' is not expressed (protovalidate)",
		"Thing: oneof = [one two] is not expressed (protovalidate)",
		"{at: left.name, min_chars: 4, when: {present: left}, why: PGV}",
		"{at: left.name, min_chars: 3, when: {present: left}, why: protovalidate}",
		"{at: right.name, min_chars: 4, when: {present: right}, why: PGV}",
		"{at: right.name, min_chars: 3, when: {present: right}, why: protovalidate}",
		"{at: parts.name, min_chars: 4, why: PGV}",
		"{at: table.value.name, min_chars: 4, why: PGV}",
		"{at: off.part.name, min_chars: 4, when: {present: off.part}, why: PGV}",
		"{at: pgv_off.part.name, min_chars: 3, when: {present: pgv_off.part}, why: protovalidate}",
		"{at: part.name, min_chars: 3, when: {present: part}, why: protovalidate}",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Messages that contain each other are reached by more paths than there can be rules. Then the messages below a lower depth
// have the rule to fulfil their annotations.
func TestMessagesThatContainEachOther(t *testing.T) {
	const messages = 30
	var source strings.Builder
	source.WriteString("syntax = \"proto3\";\npackage acme;\nimport \"validate/validate.proto\";\noption go_package = \"acme.test/thing\";\n")
	for i := range messages {
		fmt.Fprintf(&source, "message M%d {\n  string name = 1 [(validate.rules).string.min_len = 1];\n", i)
		for j := range messages {
			fmt.Fprintf(&source, "  M%d m%d = %d;\n", j, j, j+2)
		}
		source.WriteString("}\n")
	}
	rules := derived(t, "acme.M0", source.String())
	whole := 0
	for _, r := range rules {
		if strings.Contains(r.Line, "annotated: true") {
			whole++
		}
	}
	// The message itself, and the others in it, each with a name and fields that contain a message again.
	if want := 1 + (messages-1)*messages; whole != want || len(rules) != messages+want {
		t.Errorf("%d rules, %d of them about whole messages; want %d and %d", len(rules), whole, messages+want, want)
	}
	const first = "{at: m1.name, min_chars: 1, when: {present: m1}, why: PGV}"
	if !slices.ContainsFunc(rules, func(r Rule) bool { return r.Line == first }) {
		t.Errorf("no rule is %s", first)
	}
}

// Options that only fields have today are not expressed for a message. A later version of protovalidate may have them.
func TestOptionsOfFieldsForAMessage(t *testing.T) {
	for option, want := range map[string]string{
		"ignore: IGNORE_IF_DEFAULT_VALUE": "Thing: ignore = 2 is not expressed (protovalidate)",
		"ignore: IGNORE_ALWAYS":           "Thing: ignore = 3 is not expressed (protovalidate)",
		"required: true":                  "Thing: required = true is not expressed (protovalidate)",
	} {
		rules := derived(t, "acme.Thing", `syntax = "proto3"; package acme; import "buf/validate/validate.proto"; option go_package = "acme.test/thing";
message Thing { option (buf.validate.message) = {`+option+`}; string name = 1; }`)
		if len(rules) != 1 || rules[0].Line != "" || rules[0].Comment != want {
			t.Errorf("%s: rules %v; want only the comment %q", option, rules, want)
		}
	}
}
