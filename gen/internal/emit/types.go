package emit

import (
	"fmt"
	"go/ast"

	"github.com/dave/jennifer/jen"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// goType is the Go type of a field.
func (e *emitter) goType(f *model.Field) *jen.Statement {
	t := e.valueType(f.Value)
	switch {
	case f.List:
		return jen.Index().Add(t)
	case f.IsMap():
		return jen.Map(e.classType(f.Key)).Add(t)
	case f.Optional:
		return jen.Op("*").Add(t)
	}
	return t
}

// valueType is the Go type of one value.
func (e *emitter) valueType(v model.Value) *jen.Statement {
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
		return e.resource("Update")
	case model.HookOf:
		return e.exprType(v.Hook.Type.Expr, v.Hook.Type.Packages)
	}
	panic(fmt.Sprintf("emit: no Go type for %T", v))
}

func (e *emitter) conversionType(c descriptor.Conversion) *jen.Statement {
	t := jen.Id(c.Type)
	if c.Package != "" {
		t = e.qual(c.Package, c.Type)
	}
	if c.Pointer {
		return jen.Op("*").Add(t)
	}
	return t
}

func (e *emitter) classType(c model.Class) *jen.Statement {
	switch c {
	case model.Duration:
		return e.qual("time", "Duration")
	case model.Timestamp:
		return e.qual("time", "Time")
	case model.JSON:
		return jen.Map(jen.String()).Any()
	case model.JSONValue:
		return jen.Any()
	case model.JSONList:
		return jen.Index().Any()
	case model.Bytes:
		return jen.Index().Byte()
	default:
		return jen.Id(map[model.Class]string{
			model.Bool: "bool", model.Int32: "int32", model.Int64: "int64", model.Uint32: "uint32", model.Uint64: "uint64",
			model.Float: "float32", model.Double: "float64", model.String: "string",
		}[c])
	}
}

// exprType is a type that the descriptor states. The model lets only these
// kinds of expressions pass.
func (e *emitter) exprType(x ast.Expr, packages map[string]string) *jen.Statement {
	switch x := x.(type) {
	case *ast.Ident:
		return jen.Id(x.Name)
	case *ast.StarExpr:
		return jen.Op("*").Add(e.exprType(x.X, packages))
	case *ast.MapType:
		return jen.Map(e.exprType(x.Key, packages)).Add(e.exprType(x.Value, packages))
	case *ast.ArrayType:
		if n, ok := x.Len.(*ast.BasicLit); ok {
			return jen.Index(jen.Op(n.Value)).Add(e.exprType(x.Elt, packages))
		}
		return jen.Index().Add(e.exprType(x.Elt, packages))
	case *ast.SelectorExpr:
		return e.qual(packages[x.X.(*ast.Ident).Name], x.Sel.Name)
	}
	panic(fmt.Sprintf("emit: no Go type for %T", x))
}

// pathType returns the Go type of the getter of a path.
func (e *emitter) pathType(p model.Path) *jen.Statement {
	if p.Oneof() != nil {
		return jen.Int32()
	}
	if len(p.Steps) == 0 {
		return e.message(p.From)
	}
	leaf := p.Leaf()
	if leaf.Desc.IsMap() {
		key, value := leaf.Message.Fields[0], leaf.Message.Fields[1]
		return jen.Map(e.pathType(model.Path{Steps: []model.Step{{Field: key}}})).Add(e.pathType(model.Path{Steps: []model.Step{{Field: value}}}))
	}
	var t *jen.Statement
	switch {
	case leaf.Message != nil:
		t = e.message(leaf.Message)
	case leaf.Enum != nil:
		t = e.ident(leaf.Enum.GoIdent)
	default:
		t = e.classType(p.Class())
	}
	if p.ToList() {
		return jen.Index().Add(t)
	}
	return t
}
