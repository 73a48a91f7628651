package resource

import (
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/gen/testdata/testpb"
)

// TestRawField finds values for which violations have Go names.
func TestRawField(t *testing.T) {
	paths := (&fieldmaskpb.FieldMask{Paths: []string{"a", "b"}}).ProtoReflect()
	labels := (&testpb.Thing{Labels: map[string]string{"k": "v"}, MaybeText: new("x")}).ProtoReflect()
	parts := (&testpb.Table{Parts: map[uint32]*testpb.Part{1: {}}}).ProtoReflect()
	for _, tt := range []struct {
		m     protoreflect.Message
		field string
		name  string
		value any
	}{
		{paths, "Paths[0]", "paths[0]", "a"},
		{paths, "Paths[1]", "paths[1]", "b"},
		{paths, "Paths[2]", "paths[2]", nil},
		{paths, "Paths[-1]", "paths[-1]", nil},
		{paths, "Paths[one]", "paths[one]", nil},
		{labels, "Labels[k]", "labels[k]", "v"},
		{labels, "Labels[l]", "labels[l]", nil},
		{labels, "MaybeText", "maybe_text", "x"},
		{labels, "MaybeText[0]", "maybe_text[0]", nil},
		{labels, "Choice", "choice", nil},
		{labels, "Nothing else", "Nothing else", nil},
		{parts, "Parts[1]", "parts[1]", nil},
		{nil, "Any[1]", "Any[1]", nil},
	} {
		if name, value := rawField(tt.m, tt.field); name != tt.name || value != tt.value {
			t.Errorf("%s is %s = %v, want %s = %v", tt.field, name, value, tt.name, tt.value)
		}
	}
}

// TestRawValue expects errors to show scalars, wrappers and durations, and no other messages.
func TestRawValue(t *testing.T) {
	for _, tt := range []struct {
		in   any
		want string // empty: nothing is shown
	}{
		{durationpb.New(1500000000).ProtoReflect(), "1.5s"},
		{wrapperspb.String("x").ProtoReflect(), "x"},
		{(*wrapperspb.StringValue)(nil).ProtoReflect(), ""},
		{(&testpb.Nameless{Value: 1}).ProtoReflect(), ""}, // one field, but not a protobuf field
		{(&fieldmaskpb.FieldMask{}).ProtoReflect(), ""},   // one field of another name
		{structpb.NewStringValue("x").ProtoReflect(), ""}, // several fields
		{"x", "x"},
		{[]byte("x"), ""},
	} {
		got := rawValue(tt.in)
		if text, ok := got.(interface{ String() string }); ok {
			got = text.String()
		}
		if tt.want == "" && got != nil || tt.want != "" && got != tt.want {
			t.Errorf("%v is shown as %v, want %q", tt.in, got, tt.want)
		}
	}
}
