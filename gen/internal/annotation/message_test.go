package annotation

import (
	"slices"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
)

// bufValidate is the part of protovalidate's options that the tests need.
const bufValidate = `syntax = "proto2";
package buf.validate;
import "google/protobuf/descriptor.proto";
option go_package = "buf.test/validate";
extend google.protobuf.MessageOptions { optional MessageRules message = 1159; }
extend google.protobuf.FieldOptions { optional FieldRules field = 1159; }
message Rule { optional string id = 1; optional string expression = 3; }
message MessageRules { repeated Rule cel = 3; repeated MessageOneofRule oneof = 4; }
message MessageOneofRule { repeated string fields = 1; optional bool required = 2; }
enum Ignore { IGNORE_UNSPECIFIED = 0; IGNORE_IF_ZERO_VALUE = 1; IGNORE_ALWAYS = 3; }
message FieldRules {
  optional UInt32Rules uint32 = 5;
  optional StringRules string = 14;
  repeated Rule cel = 23;
  optional bool required = 25;
  optional Ignore ignore = 27;
}
message UInt32Rules { optional uint32 lte = 3; }
message StringRules { optional uint64 min_len = 2; }
`

// derived returns the rules of a message of a proto file that can import bufValidate, and its comments.
func derived(t *testing.T, message, source string) []Rule {
	t.Helper()
	const path = "buf/validate/validate.proto"
	compiler := protocompile.Compiler{Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{path: bufValidate, "acme.proto": source}),
	})}
	files, err := compiler.Compile(t.Context(), "acme.proto")
	if err != nil {
		t.Fatal(err)
	}
	set := new(descriptorpb.FileDescriptorSet)
	for _, f := range files {
		for i := range f.Imports().Len() {
			set.File = append(set.File, protodesc.ToFileDescriptorProto(f.Imports().Get(i)))
			for j := range f.Imports().Get(i).Imports().Len() {
				set.File = append(set.File, protodesc.ToFileDescriptorProto(f.Imports().Get(i).Imports().Get(j)))
			}
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
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
	return Derive(m, Depth, index.Message)
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
		"Thing: cel = has(this.left) is not expressed (protovalidate)",
		"{one_of: [word, text], why: protovalidate}",
		"Thing: oneof = [limit count] is not expressed (protovalidate)",
		"part.title: cel = this.startsWith('a') is not expressed (protovalidate)",
		"part: cel = this.name != this.title is not expressed (protovalidate)",
		"{at: part, one_of: [name, title], when: {present: part}, why: protovalidate}",
		"parts.title: cel = this.startsWith('a') is not expressed (protovalidate)",
		"parts: cel = this.name != this.title is not expressed (protovalidate)",
		"{at: parts, one_of: [name, title], why: protovalidate}",
		"again: the rules of Thing are not expressed (protovalidate)",
	}
	if !slices.Equal(got, want) {
		t.Errorf("rules:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	wantHooks := []string{
		"Thing at , field shade", "Thing at , field odd", "Thing at , field ", "Thing at , field ", "Thing at , field ", "Thing at , field ",
		"Part at part, field title", "Part at part, field ", "Part at parts, field title", "Part at parts, field ",
	}
	if !slices.Equal(hooks, wantHooks) {
		t.Errorf("hooks:\n%s\nwant:\n%s", strings.Join(hooks, "\n"), strings.Join(wantHooks, "\n"))
	}
}
