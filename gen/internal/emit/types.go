package emit

import (
	"go/types"

	"github.com/dave/jennifer/jen"
	"google.golang.org/protobuf/compiler/protogen"

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
	}
	return e.Src(types.ExprString(v.(model.HookOf).Hook.Type.Expr))
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

// ScalarType is the Go type of a field that is a scalar, or of the scalar in its wrapper.
func (e *emitter) ScalarType(f *protogen.Field) *jen.Statement {
	if f.Enum != nil {
		return e.ident(f.Enum.GoIdent)
	}
	return e.classType(model.Path{Steps: []model.Step{{Field: f}}}.Class())
}

// fieldType returns the Go type of a field. The function message returns that of a field with a message: the types of messages
// and of views differ in it.
func (e *emitter) fieldType(f *protogen.Field, message func(*protogen.Field) *jen.Statement) *jen.Statement {
	if f.Desc.IsMap() {
		return e.Src("map[$]$", e.fieldType(f.Message.Fields[0], message), e.fieldType(f.Message.Fields[1], message))
	}
	write := e.ScalarType
	if f.Message != nil {
		write = message
	}
	if f.Desc.IsList() {
		return e.Src("[]$", write(f))
	}
	return write(f)
}

// pathType returns the Go type of the getter of a path.
func (e *emitter) pathType(p model.Path) *jen.Statement {
	message := func(f *protogen.Field) *jen.Statement { return e.message(f.Message) }
	switch {
	case p.Oneof() != nil:
		return e.Src("int32")
	case p.Last().Pick != nil:
		return message(p.Leaf())
	}
	return e.fieldType(p.Leaf(), message)
}
