package model

import (
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Value is what becomes of the value of a field: one of the types below.
type Value interface{ isValue() }

// Plain is a scalar, a wrapper of one, or one of the well-known types that Go
// has a type for.
type Plain struct {
	Class   Class
	Wrapper bool
}

// MapOf is a map of scalars.
type MapOf struct{ Key, Elem Class }

// Converted is a value of a closed table of conversions.
type Converted struct{ Conversion Conversion }

// StructOf is a struct, perhaps of a message in an Any.
type StructOf struct {
	Struct *Struct
	Any    *protogen.Message // nil: the message itself
}

// EnumOf is one of the constants of an enum.
type EnumOf struct{ Enum *Enum }

// OneofOf is one of the cases of a oneof.
type OneofOf struct{ Oneof *Oneof }

// InlineOf is an inlined resource.
type InlineOf struct{ Message *protogen.Message }

// HookOf is what a hook makes.
type HookOf struct{ Hook Hook }

func (Plain) isValue()     {}
func (MapOf) isValue()     {}
func (Converted) isValue() {}
func (StructOf) isValue()  {}
func (EnumOf) isValue()    {}
func (OneofOf) isValue()   {}
func (InlineOf) isValue()  {}
func (HookOf) isValue()    {}

// Conversion is one row of the table of `as`.
type Conversion struct {
	Name    string                // in the descriptor
	Takes   protoreflect.FullName // the message it reads
	Func    string                // of package convert; empty: the value is the server entry
	Package string                // of the Go type; empty: it is predeclared
	Type    string
	Pointer bool
	Doc     string
}

// Conversions is the table of `as`.
func Conversions() []Conversion {
	return []Conversion{
		{
			Name: "per_million", Takes: "envoy.type.v3.FractionalPercent", Func: "PerMillion", Type: "uint32",
			Doc: "A fraction, in parts of a million; what is more than everything is everything.",
		},
		{
			Name: "host_port", Takes: "envoy.config.core.v3.Address", Func: "HostPort", Type: "string",
			Doc: "The host and port of a socket address, as net.Dial takes them. The host may be an address or a name.",
		},
		{
			Name: "addr_port", Takes: "envoy.config.core.v3.Address", Func: "AddrPort", Package: "net/netip", Type: "AddrPort",
			Doc: "The IP address and port of a socket address; a host that is no IP address is a violation.",
		},
		{
			Name: "server_entry", Takes: "envoy.config.core.v3.SelfConfigSource", Type: "Server",
			Package: Framework + "bootstrap", Pointer: true,
			Doc: "The server entry that the resource came from, nil when the message is absent.",
		},
	}
}

// Framework is where the packages stand that generated code imports.
const Framework = "github.com/xdsforge/xdsforge/framework/"

// Comparable reports whether == compares fields of this value.
func (f *Field) Comparable() bool {
	if f.List || f.Optional {
		return false
	}
	switch v := f.Value.(type) {
	case Plain:
		return v.Class.Key() || v.Class == Duration
	case EnumOf:
		return true
	case Converted:
		return !v.Conversion.Pointer
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
