package model

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"

	"github.com/xdsforge/xdsforge/gen/internal/descriptor"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// GoType is a type that a descriptor names.
type GoType struct {
	Expr     ast.Expr
	Packages map[string]string // import paths by the name that Expr uses
	Basic    bool              // predeclared, and comparable with ==
}

// hook builds a hand-written function that makes a value of s. Without needs it is
// given the values of from, and without those the message at hand.
func (b *builder) hook(s *Struct, name descriptor.Text, needs []descriptor.Text, from []Path, typ descriptor.Text) (Hook, bool) {
	h := Hook{Func: name.Value}
	for _, p := range from {
		h.Needs = append(h.Needs, Need{Path: p})
	}
	if len(needs) > 0 {
		var ok bool
		if h.Needs, ok = b.hookNeeds(needs, s); !ok {
			return h, false
		}
	}
	for _, n := range h.Needs {
		if n.Path.ManyInside() {
			b.bag.AddHint(name.Pos, diag.WrongShape, "pass the repeated message to the hook", "hook %s needs %s, which goes through a repeated field", h.Func, n)
			return h, false
		}
	}
	if !typ.Given() {
		b.bag.Add(name.Pos, diag.MissingKey, "hook %s has no key \"type\", the Go type that it returns", h.Func)
		return h, false
	}
	var ok bool
	h.Type, ok = b.goType(typ)
	return h, ok
}

// hookNeeds resolves the arguments of a hook that returns a value: paths of the message, or
// fields of s that are decoded before.
func (b *builder) hookNeeds(texts []descriptor.Text, s *Struct) ([]Need, bool) {
	var out []Need
	for _, t := range texts {
		n := Need{}
		if isGoPath(t.Value) {
			i := slices.IndexFunc(s.Fields, func(f *Field) bool { return f.Name == t.Value })
			if i < 0 {
				b.bag.AddHint(t.Pos, diag.UnknownField, diag.Suggest(t.Value, fieldNames(s)), "%[2]s has no field %[1]q before this one", t.Value, s.Name)
				return nil, false
			}
			n.Field = s.Fields[i]
		} else {
			var ok bool
			if n.Path, ok = b.path(t, s.Message); !ok {
				return nil, false
			}
		}
		out = append(out, n)
	}
	return out, true
}

// goType reads a Go type: made of pointers, slices, arrays and maps of
// predeclared types, types of the package itself, and types of known packages.
func (b *builder) goType(t descriptor.Text) (GoType, bool) {
	out := GoType{Packages: make(map[string]string)}
	e, err := parser.ParseExpr(t.Value)
	if err != nil {
		b.bag.Add(t.Pos, diag.BadGoType, "type = %q; must be a Go type", t.Value)
		return out, false
	}
	out.Expr = e
	if id, ok := e.(*ast.Ident); ok {
		out.Basic = slices.Contains(basicTypes(), id.Name)
	}
	return out, b.typeExpr(t, e, out.Packages)
}

func basicTypes() []string {
	return []string{
		"bool", "byte", "float32", "float64", "int", "int8", "int16", "int32", "int64",
		"rune", "string", "uint", "uint8", "uint16", "uint32", "uint64",
	}
}

func (b *builder) typeExpr(t descriptor.Text, e ast.Expr, packages map[string]string) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return true
	case *ast.StarExpr:
		return b.typeExpr(t, e.X, packages)
	case *ast.MapType:
		return b.typeExpr(t, e.Key, packages) && b.typeExpr(t, e.Value, packages)
	case *ast.ArrayType:
		if lit, ok := e.Len.(*ast.BasicLit); e.Len == nil || ok && lit.Kind == token.INT {
			return b.typeExpr(t, e.Elt, packages)
		}
	case *ast.SelectorExpr:
		if id, ok := e.X.(*ast.Ident); ok {
			path, known := knownPackages()[id.Name]
			if !known {
				b.bag.AddHint(t.Pos, diag.BadGoType, "declare an alias of the type in the hook's package", "type = %q; unknown package %s", t.Value, id.Name)
				return false
			}
			packages[id.Name] = path
			return true
		}
	}
	b.bag.AddHint(t.Pos, diag.BadGoType, "declare an alias of the type in the hook's package", "type = %q; must consist of names, pointers, slices, arrays and maps", t.Value)
	return false
}

// knownPackages are the packages whose types a hook may make without an alias.
func knownPackages() map[string]string {
	return map[string]string{
		"time": "time", "netip": "net/netip", "anypb": "google.golang.org/protobuf/types/known/anypb", "url": "net/url", "regexp": "regexp", "json": "encoding/json",
		"resource": descriptor.Framework + "resource", "xdstp": descriptor.Framework + "xdstp", "bootstrap": descriptor.Framework + "bootstrap",
		"matcher": descriptor.Framework + "matcher", "tlscontext": descriptor.Framework + "tlscontext",
	}
}
