package emit

import (
	"fmt"
	"go/ast"

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

// exprType is a type that the descriptor states. The model lets only these
// kinds of expressions pass.
func (e *emitter) exprType(x ast.Expr, packages map[string]string) *jen.Statement {
	switch x := x.(type) {
	case *ast.Ident:
		return jen.Id(x.Name)
	case *ast.StarExpr:
		return e.Src("*$", e.exprType(x.X, packages))
	case *ast.MapType:
		return e.Src("map[$]$", e.exprType(x.Key, packages), e.exprType(x.Value, packages))
	case *ast.ArrayType:
		n := ""
		if lit, ok := x.Len.(*ast.BasicLit); ok {
			n = lit.Value
		}
		return e.Src("[$]$", n, e.exprType(x.Elt, packages))
	case *ast.SelectorExpr:
		return e.qual(packages[x.X.(*ast.Ident).Name], x.Sel.Name)
	}
	panic(fmt.Sprintf("emit: no Go type for %T", x))
}

// pathType returns the Go type of the getter of a path.
func (e *emitter) pathType(p model.Path) *jen.Statement {
	if p.Oneof() != nil {
		return e.Src("int32")
	}
	if len(p.Steps) == 0 {
		return e.message(p.From)
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
