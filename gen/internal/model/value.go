package model

import (
	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
)

// Value is the kind of a field's value: one of the types below.
type Value interface{ isValue() }

// Plain is a scalar, a wrapper of one, or one of the well-known types that Go
// has a type for.
type Plain struct {
	Class   Class
	Wrapper bool
}

// Converted is a value of a closed table of conversions.
type Converted struct{ Conversion descriptor.Conversion }

// StructOf is a struct, perhaps of a message in an Any.
type StructOf struct {
	Struct *Struct
	Any    *protogen.Message // nil: the message itself
	Typed  bool              // a TypedStruct may stand for the message in the Any
	Other  string            // the profile in which the Any may hold another message, which is no value; empty: none
}

// EnumOf is one of the constants of an enum.
type EnumOf struct{ Enum *Enum }

// OneofOf is one of the cases of a oneof.
type OneofOf struct{ Oneof *Oneof }

// InlineOf is an inlined resource.
type InlineOf struct{ Message *protogen.Message }

// HookOf is the result of a hook.
type HookOf struct{ Hook Hook }

func (Plain) isValue()     {}
func (Converted) isValue() {}
func (StructOf) isValue()  {}
func (EnumOf) isValue()    {}
func (OneofOf) isValue()   {}
func (InlineOf) isValue()  {}
func (HookOf) isValue()    {}

// Comparable reports whether == compares fields of this value.
func (f *Field) Comparable() bool {
	if f.List || f.Optional || f.IsMap() {
		return false
	}
	switch v := f.Value.(type) {
	case Plain:
		return v.Class.Key() || v.Class == Duration
	case EnumOf:
		return true
	case Converted:
		return !v.Conversion.Pointer && !v.Conversion.Equal
	case StructOf:
		return v.Struct.Comparable
	case OneofOf:
		for _, c := range v.Oneof.Cases {
			if c.Struct == nil || !c.Struct.Comparable {
				return false
			}
		}
		return true
	case HookOf:
		return v.Hook.Type.Basic
	}
	return false
}

// WithoutAny is the field as it is read once its Any is open.
func (f *Field) WithoutAny() *Field {
	out := *f
	v := f.Value.(StructOf)
	v.Any = nil
	out.Value = v
	return &out
}
