package model

import (
	"go/ast"
	"slices"

	"google.golang.org/protobuf/compiler/protogen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
)

// Value is the kind of a field's value: one of the types below.
type Value interface {
	// class is the class of the Go value: Any if it can be nil, NoClass if no class has its zero value.
	class() Class
	// comparable reports whether == compares two of the values.
	comparable() bool
}

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

func (v Plain) class() Class  { return v.Class }
func (StructOf) class() Class { return NoClass }
func (EnumOf) class() Class   { return Enumeration }
func (OneofOf) class() Class  { return Any }
func (InlineOf) class() Class { return Any }

func (v Converted) class() Class {
	if v.Conversion.Pointer {
		return Any
	}
	return map[string]Class{"string": String, "uint32": Uint32}[v.Conversion.Type]
}

func (v HookOf) class() Class {
	switch t := v.Hook.Type.Expr.(type) {
	case *ast.Ident:
		if t.Name == "string" {
			return String
		}
	case *ast.MapType, *ast.StarExpr:
		return Any
	}
	return NoClass
}

func (v Plain) comparable() bool     { return v.Class.Key() || v.Class == Duration }
func (v Converted) comparable() bool { return !v.Conversion.Pointer && !v.Conversion.Equal }
func (v StructOf) comparable() bool  { return v.Struct.Comparable }
func (EnumOf) comparable() bool      { return true }
func (InlineOf) comparable() bool    { return false }
func (v HookOf) comparable() bool    { return v.Hook.Type.Basic }

func (v OneofOf) comparable() bool {
	return !slices.ContainsFunc(v.Oneof.Cases, func(c *Case) bool { return c.Struct == nil || !c.Struct.Comparable })
}

// Comparable reports whether == compares fields of this value.
func (f *Field) Comparable() bool {
	return !f.List && !f.Optional && !f.IsMap() && f.Value.comparable()
}

// Class is the class of the field's Go value, elements of a slice each. It is NoClass for the result of a hook.
func (f *Field) Class() Class {
	if _, hook := f.Value.(HookOf); hook {
		return NoClass
	}
	return f.Value.class()
}

// ZeroClass is the class whose zero value is that of the field: Map for values with a
// length, Any for values that can be nil.
func (f *Field) ZeroClass() Class {
	switch {
	case f.List || f.IsMap():
		return Map
	case f.Optional:
		return Any
	}
	return f.Value.class()
}

// CanBeEmpty reports whether the field has a value that means nothing. It is false for hooks.
func (f *Field) CanBeEmpty() bool {
	_, hook := f.Value.(HookOf)
	class := f.ZeroClass()
	return !hook && class != NoClass && class != Timestamp
}

// WithoutAny is the field as it is read once its Any is open.
func (f *Field) WithoutAny() *Field {
	out := *f
	v := f.Value.(StructOf)
	v.Any = nil
	out.Value = v
	return &out
}
