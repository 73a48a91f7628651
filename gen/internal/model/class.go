package model

import (
	"cmp"

	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Class is a kind of value.
type Class int

// The classes.
const (
	NoClass Class = iota // a oneof
	Bool
	Int32
	Int64
	Uint32
	Uint64
	Float
	Double
	String
	Bytes
	Enumeration
	Duration
	Timestamp
	JSON      // google.protobuf.Struct
	JSONValue // google.protobuf.Value
	JSONList  // google.protobuf.ListValue
	Any
	Map
	Message // any other
)

// String returns the name of the class for error messages.
func (c Class) String() string {
	return [...]string{
		"a oneof", "a bool", "an int32", "an int64", "a uint32", "a uint64", "a float", "a double", "a string", "bytes",
		"an enum", "a Duration", "a Timestamp", "a Struct", "a Value", "a ListValue", "an Any", "a map", "a message",
	}[c]
}

// Number reports whether values of the class are ordered numbers.
func (c Class) Number() bool { return c >= Int32 && c <= Double }

// Scalar reports whether the class is a plain Go type.
func (c Class) Scalar() bool { return c >= Bool && c <= Bytes }

// Key reports whether values of the class can be told apart by ==.
func (c Class) Key() bool { return c.Scalar() && c != Bytes || c == Enumeration }

func classOf(f *protogen.Field) Class {
	switch {
	case f == nil:
		return NoClass
	case f.Desc.IsMap():
		return Map
	case f.Message != nil:
		return cmp.Or(wellKnown[f.Message.Desc.FullName()], Message)
	}
	return cmp.Or(kinds[f.Desc.Kind()], Message)
}

var (
	kinds = map[protoreflect.Kind]Class{
		protoreflect.BoolKind: Bool, protoreflect.EnumKind: Enumeration,
		protoreflect.Int32Kind: Int32, protoreflect.Sint32Kind: Int32, protoreflect.Sfixed32Kind: Int32,
		protoreflect.Int64Kind: Int64, protoreflect.Sint64Kind: Int64, protoreflect.Sfixed64Kind: Int64,
		protoreflect.Uint32Kind: Uint32, protoreflect.Fixed32Kind: Uint32,
		protoreflect.Uint64Kind: Uint64, protoreflect.Fixed64Kind: Uint64,
		protoreflect.FloatKind: Float, protoreflect.DoubleKind: Double,
		protoreflect.StringKind: String, protoreflect.BytesKind: Bytes,
	}
	wellKnown = map[protoreflect.FullName]Class{
		"google.protobuf.Duration": Duration, "google.protobuf.Timestamp": Timestamp, "google.protobuf.Struct": JSON,
		"google.protobuf.Value": JSONValue, "google.protobuf.ListValue": JSONList, "google.protobuf.Any": Any,
		"google.protobuf.BoolValue": Bool, "google.protobuf.Int32Value": Int32, "google.protobuf.Int64Value": Int64,
		"google.protobuf.UInt32Value": Uint32, "google.protobuf.UInt64Value": Uint64, "google.protobuf.FloatValue": Float,
		"google.protobuf.DoubleValue": Double, "google.protobuf.StringValue": String, "google.protobuf.BytesValue": Bytes,
	}
)

func isWrapper(f *protogen.Field) bool { return f != nil && f.Message != nil && IsWrapper(f.Message) }

// IsWrapper reports whether a message is one of google.protobuf's wrappers of scalars.
func IsWrapper(m *protogen.Message) bool {
	return wellKnown[m.Desc.FullName()].Scalar()
}
