package model

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// GoType is a type that a descriptor names.
type GoType struct {
	Expr  ast.Expr
	Basic bool // predeclared, and comparable with ==
}

// hook builds a hand-written function that makes a value of s. Without needs it is
// given the values of from, and without those the message at hand.
func (b *builder) hook(s *Struct, name descriptor.Text, needs []descriptor.Text, from []Path, typ descriptor.Text) Hook {
	h := Hook{Func: b.hookName(name), Needs: slice.Map(needs, func(t descriptor.Text) Need { return b.hookNeed(t, s) })}
	if len(needs) == 0 {
		h.Needs = needsOf(from)
	}
	for _, n := range h.Needs {
		b.requireHint(!n.Path.ManyInside(), name, diag.WrongShape, "pass the repeated message to the hook", "hook %s needs %s, which goes through a repeated field", h.Func, n)
	}
	b.require(typ.Given(), name, diag.MissingKey, "hook %s has no key \"type\", the Go type that it returns", h.Func)
	h.Type = b.goType(typ)
	return h
}

// hookName notes the name of a hook.
func (b *builder) hookName(t descriptor.Text) string {
	b.hooks = append(b.hooks, t)
	return t.Value
}

func needsOf(paths []Path) []Need {
	return slice.Map(paths, func(p Path) Need { return Need{Path: p} })
}

// hookNeed resolves an argument of a hook that returns a value: a path of the message, or a
// field of s that is decoded before.
func (b *builder) hookNeed(t descriptor.Text, s *Struct) Need {
	if !isGoPath(t.Value) {
		return Need{Path: b.path(t, s.Message)}
	}
	i := slices.IndexFunc(s.Fields, func(f *Field) bool { return f.Name == t.Value })
	b.requireHint(i >= 0, t, diag.UnknownField, diag.Suggest(t.Value, fieldNames(s)), "%[2]s has no field %[1]q before this one", t.Value, s.Name)
	return Need{Field: s.Fields[i]}
}

// goType reads a Go type: made of pointers, slices, arrays and maps of
// predeclared types, types of the package itself, and types of known packages.
func (b *builder) goType(t descriptor.Text) GoType {
	e, err := parser.ParseExpr(t.Value)
	b.require(err == nil, t, diag.BadGoType, "type = %q; must be a Go type", t.Value)
	b.typeExpr(t, e)
	tv, _ := types.Eval(token.NewFileSet(), nil, token.NoPos, t.Value) // fails for types of packages
	_, basic := tv.Type.(*types.Basic)
	return GoType{Expr: e, Basic: basic && tv.IsType()}
}

// typeExpr checks a part of a type.
func (b *builder) typeExpr(t descriptor.Text, e ast.Expr) {
	const hint = "declare an alias of the type in the hook's package"
	switch e := e.(type) {
	case *ast.Ident:
		return
	case *ast.StarExpr:
		b.typeExpr(t, e.X)
		return
	case *ast.MapType:
		b.typeExpr(t, e.Key)
		b.typeExpr(t, e.Value)
		return
	case *ast.ArrayType:
		if lit, ok := e.Len.(*ast.BasicLit); e.Len == nil || ok && lit.Kind == token.INT {
			b.typeExpr(t, e.Elt)
			return
		}
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok {
			b.requireHint(HookPackages[id.Name] != "", t, diag.BadGoType, hint, "type = %q; unknown package %s", t.Value, id.Name)
			return
		}
	}
	panic(b.fault(t.Pos, diag.BadGoType, hint, "type = %q; must consist of names, pointers, slices, arrays and maps", t.Value))
}

// HookPackages are the import paths of the packages whose types a hook may make without an alias.
var HookPackages = map[string]string{
	"time": "time", "netip": "net/netip", "anypb": "google.golang.org/protobuf/types/known/anypb", "url": "net/url", "regexp": "regexp", "json": "encoding/json",
	"resource": descriptor.Framework + "resource", "xdstp": descriptor.Framework + "xdstp", "bootstrap": descriptor.Framework + "bootstrap",
	"matcher": descriptor.Framework + "matcher", "tlscontext": descriptor.Framework + "tlscontext",
}
