package emit

import (
	"fmt"
	"go/types"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// GoType is the Go type of a field.
func (e *emitter) GoType(f *model.Field) *jen.Statement {
	t := e.ValueType(f.Value)
	switch {
	case f.List:
		return e.Src("[]$", t)
	case f.IsMap():
		return e.Src("map[$]$", e.classType(f.Key), t)
	case f.Optional:
		return e.Src("*$", t)
	}
	return t
}

// ValueType is the Go type of one value.
func (e *emitter) ValueType(v model.Value) *jen.Statement {
	switch v := v.(type) {
	case model.Plain:
		return e.classType(v.Class)
	case model.Converted:
		return e.conversionType(v.Conversion)
	case model.StructOf:
		return jen.Id(v.Struct.Name)
	case model.EnumOf:
		return jen.Id(v.Enum.Name)
	case model.OneofOf:
		return jen.Id(v.Oneof.Name)
	case model.InlineOf:
		return e.Src("resource.Update")
	case model.HookOf:
		return e.hookResult(v.Hook)
	}
	panic(fmt.Sprintf("emit: no Go type for %T", v))
}

func (e *emitter) conversionType(c descriptor.Conversion) *jen.Statement {
	t := jen.Id(c.Type)
	if c.Package != "" {
		t = e.qual(c.Package, c.Type)
	}
	if c.Pointer {
		return e.Src("*$", t)
	}
	return t
}

func (e *emitter) classType(c model.Class) *jen.Statement {
	return e.Src(map[model.Class]string{
		model.Bool: "bool", model.Int32: "int32", model.Int64: "int64", model.Uint32: "uint32", model.Uint64: "uint64",
		model.Float: "float32", model.Double: "float64", model.String: "string", model.Bytes: "[]byte",
		model.Duration: "time.Duration", model.Timestamp: "time.Time",
		model.JSON: "map[string]any", model.JSONValue: "any", model.JSONList: "[]any",
	}[c])
}

// ScalarType is the Go type of the scalar, or of the one in the wrapper, at a
// path.
func (e *emitter) ScalarType(p model.Path) jen.Code {
	if p.Class() == model.Enumeration {
		return e.ident(p.Leaf().Enum.GoIdent)
	}
	return e.classType(p.Class())
}

// hookResult is the type of the values that a hook returns.
func (e *emitter) hookResult(h model.Hook) *jen.Statement {
	return e.Src(types.ExprString(h.Type.Expr))
}

// pathType returns the Go type of the getter of a path.
func (e *emitter) pathType(p model.Path) *jen.Statement {
	if p.Oneof() != nil {
		return e.Src("int32")
	}
	leaf := p.Leaf()
	if leaf.Desc.IsMap() {
		key, value := leaf.Message.Fields[0], leaf.Message.Fields[1]
		return e.Src("map[$]$", e.pathType(model.Path{Steps: []model.Step{{Field: key}}}), e.pathType(model.Path{Steps: []model.Step{{Field: value}}}))
	}
	typ := e.Src("$", e.ScalarType(p))
	if leaf.Message != nil {
		typ = e.message(leaf.Message)
	}
	if p.ToList() {
		return e.Src("[]$", typ)
	}
	return typ
}
