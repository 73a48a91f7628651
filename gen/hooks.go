package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
)

// hookDeclaration is the declaration of the type of a hook in generated code: var _ func(…) = name.
var hookDeclaration = regexp.MustCompile(`(?m)^var _ func((?s:.+?)) = (\w+)$`)

// UnwrittenHooks returns the hooks that generated files call and that no Go file beside
// them declares, each as a line with its folder and signature. The compiler reports them too, but only by name.
func UnwrittenHooks(files []File) []string {
	var out []string
	for _, f := range files {
		if filepath.Base(f.Path) != "decoder.gen.go" {
			continue
		}
		folder := filepath.Dir(f.Path)
		written := functionsIn(folder)
		for _, d := range hookDeclaration.FindAllStringSubmatch(string(f.Data), -1) {
			if signature, name := strings.Join(strings.Fields(d[1]), " "), d[2]; !written[name] {
				out = append(out, folder+": write this hook: func "+name+signature)
				written[name] = true // report it once
			}
		}
	}
	return out
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
