package model

import (
	"cmp"
	"strings"

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

// name is the class without its article.
func (c Class) name() string {
	_, name, _ := strings.Cut(c.String(), " ")
	return name
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
		return messageClass(f.Message.Desc.FullName())
	}
	return kindClass(f.Desc.Kind())
}

func messageClass(name protoreflect.FullName) Class {
	known := map[protoreflect.FullName]Class{
		"google.protobuf.Duration": Duration, "google.protobuf.Timestamp": Timestamp, "google.protobuf.Struct": JSON,
		"google.protobuf.Value": JSONValue, "google.protobuf.ListValue": JSONList, "google.protobuf.Any": Any,
	}
	return cmp.Or(known[name], wrappers()[name], Message)
}

func kindClass(k protoreflect.Kind) Class {
	switch k {
	case protoreflect.BoolKind:
		return Bool
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return Int32
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return Int64
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return Uint32
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return Uint64
	case protoreflect.FloatKind:
		return Float
	case protoreflect.DoubleKind:
		return Double
	case protoreflect.StringKind:
		return String
	case protoreflect.BytesKind:
		return Bytes
	case protoreflect.EnumKind:
		return Enumeration
	default:
		return Message
	}
}

func wrappers() map[protoreflect.FullName]Class {
	return map[protoreflect.FullName]Class{
		"google.protobuf.BoolValue": Bool, "google.protobuf.Int32Value": Int32, "google.protobuf.Int64Value": Int64,
		"google.protobuf.UInt32Value": Uint32, "google.protobuf.UInt64Value": Uint64, "google.protobuf.FloatValue": Float,
		"google.protobuf.DoubleValue": Double, "google.protobuf.StringValue": String, "google.protobuf.BytesValue": Bytes,
	}
}

func isWrapper(f *protogen.Field) bool { return f != nil && f.Message != nil && IsWrapper(f.Message) }

// IsWrapper reports whether a message is one of google.protobuf's wrappers of scalars.
func IsWrapper(m *protogen.Message) bool {
	_, ok := wrappers()[m.Desc.FullName()]
	return ok
}
