package gen

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
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
		declared, reported := declaredIn(folder), make(map[string]bool)
		for _, d := range hookDeclaration.FindAllStringSubmatch(string(f.Data), -1) {
			if signature, name := strings.Join(strings.Fields(d[1]), " "), d[2]; declared.Lookup(name) == nil && !reported[name] {
				out = append(out, folder+": write this hook: func "+name+signature)
				reported[name] = true
			}
		}
	}
	return out
}

// declaredIn returns the scope of the hand-written files in a folder. It skips code that does not parse.
func declaredIn(folder string) *types.Scope {
	var files []*ast.File
	positions := token.NewFileSet()
	for _, name := range handWritten(folder) {
		if f, _ := parser.ParseFile(positions, name, nil, parser.SkipObjectResolution); f != nil {
			files = append(files, f)
		}
	}
	config := types.Config{IgnoreFuncBodies: true, Error: func(error) {}} // imports are missing
	pkg, _ := config.Check(folder, positions, files, nil)
	return pkg.Scope()
}
