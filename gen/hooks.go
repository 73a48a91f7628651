package gen

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path/filepath"
	"strings"
)

// UnwrittenHooks returns the hooks that generated files call and that no Go file beside
// them declares, each as a line with its folder and signature. The compiler reports them too, but only by name.
func UnwrittenHooks(files []File) []string {
	var out []string
	for _, f := range files {
		if filepath.Base(f.Path) != "decoder.gen.go" {
			continue
		}
		fset := token.NewFileSet()
		parsed, err := parser.ParseFile(fset, f.Path, f.Data, 0)
		if err != nil {
			continue // the compiler reports the error
		}
		folder := filepath.Dir(f.Path)
		written := functionsIn(folder)
		for _, d := range parsed.Decls {
			name, typ, ok := hookDeclaration(d)
			if !ok || written[name] {
				continue
			}
			var text bytes.Buffer
			if err := printer.Fprint(&text, fset, typ); err == nil {
				out = append(out, folder+": write this hook: "+strings.Replace(text.String(), "func", "func "+name, 1))
			}
			written[name] = true // report it once
		}
	}
	return out
}

// hookDeclaration returns the name and type of a hook from its declaration: var _ func(…) =
// name.
func hookDeclaration(d ast.Decl) (name string, typ *ast.FuncType, ok bool) {
	g, ok := d.(*ast.GenDecl)
	if !ok || g.Tok != token.VAR || len(g.Specs) != 1 {
		return "", nil, false
	}
	spec := g.Specs[0].(*ast.ValueSpec)
	typ, isFunc := spec.Type.(*ast.FuncType)
	if !isFunc || len(spec.Values) != 1 {
		return "", nil, false
	}
	id, isName := spec.Values[0].(*ast.Ident)
	if !isName {
		return "", nil, false
	}
	return id.Name, typ, true
}

// functionsIn returns the names of the functions, and of variables that may hold one, in
// the hand-written files of a folder.
func functionsIn(folder string) map[string]bool {
	functions := make(map[string]bool)
	names, _ := filepath.Glob(filepath.Join(folder, "*.go"))
	for _, name := range names {
		if generatedName(filepath.Base(name)) {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if f == nil && err != nil {
			continue
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				functions[d.Name.Name] = d.Recv == nil || functions[d.Name.Name]
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok {
						for _, id := range v.Names {
							functions[id.Name] = true
						}
					}
				}
			}
		}
	}
	return functions
}
