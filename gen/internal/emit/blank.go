package emit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// blank returns source in which the parameters that a function does not use are named _. All functions that decode have the same
// parameters, and so have those that check rules.
func blank(source []byte) ([]byte, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range slices.Backward(file.Decls) {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		used := make(map[string]bool)
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				n.Sel = ast.NewIdent("_") // the name of a field or method
			case *ast.Ident:
				used[n.Name] = true
			}
			return true
		})
		for _, params := range slices.Backward(f.Type.Params.List) {
			for _, name := range slices.Backward(params.Names) {
				if start := files.Position(name.Pos()).Offset; !used[name.Name] {
					source = slices.Replace(source, start, start+len(name.Name), '_')
				}
			}
		}
	}
	return source, nil
}
