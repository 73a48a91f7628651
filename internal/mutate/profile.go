package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/cover"
)

// widenProfile adds operators to a coverage profile that Go leaves out: those of case
// expressions, if the switch was reached, and those of package-level constants and
// variables. root is the folder of the module.
func widenProfile(name, root string) error {
	profiles, err := cover.ParseProfiles(name)
	if err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return err
	}
	module := modfile.ModulePath(mod)
	blocks := make(map[string][]cover.ProfileBlock) // by file, from the root
	for _, p := range profiles {
		rel, err := filepath.Rel(module, p.FileName)
		if err != nil {
			return err
		}
		blocks[filepath.ToSlash(rel)] = p.Blocks
	}
	if err := addFilesWithoutBlocks(root, blocks); err != nil {
		return err
	}
	var more bytes.Buffer
	for _, rel := range slices.Sorted(maps.Keys(blocks)) {
		found, err := uncountedOperators(filepath.Join(root, rel), blocks[rel])
		if err != nil {
			return err
		}
		for _, at := range found {
			fmt.Fprintf(&more, "%s:%d.%d,%d.%d 1 1\n", path.Join(module, rel), at.Line, at.Column, at.Line, at.Column+1)
		}
	}
	return appendTo(name, more.Bytes())
}

// addFilesWithoutBlocks adds the files of the same packages that have no statements, such as one
// of constants. Go's profiles leave them out.
func addFilesWithoutBlocks(root string, blocks map[string][]cover.ProfileBlock) error {
	folders := make(map[string]bool)
	for rel := range blocks {
		folders[path.Dir(rel)] = true
	}
	for folder := range folders {
		entries, err := os.ReadDir(filepath.Join(root, folder))
		if err != nil {
			return err
		}
		for _, e := range entries {
			rel := path.Join(folder, e.Name())
			if _, ok := blocks[rel]; !ok && strings.HasSuffix(rel, ".go") && !strings.HasSuffix(rel, "_test.go") {
				blocks[rel] = nil
			}
		}
	}
	return nil
}

func appendTo(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0) //nolint:gosec // gremlins names the file
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// uncountedOperators returns where a file has operators that run although no block of
// the profile has them, in order.
func uncountedOperators(file string, blocks []cover.ProfileBlock) ([]token.Position, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := make(map[token.Position]bool)
	add := func(e ast.Node) {
		for _, pos := range operators(e) {
			found[set.Position(pos)] = true
		}
	}
	for _, d := range parsed.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			add(g)
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		s, ok := n.(*ast.SwitchStmt)
		if !ok || !reached(set.Position(s.Pos()), blocks) {
			return true
		}
		for _, c := range s.Body.List {
			if clause, ok := c.(*ast.CaseClause); ok {
				for _, e := range clause.List {
					add(e)
				}
			}
		}
		return true
	})
	return slices.SortedFunc(maps.Keys(found), func(a, b token.Position) int { return a.Offset - b.Offset }), nil
}

// operators returns the positions of the operators below a node, without those in
// function literals.
func operators(n ast.Node) (found []token.Pos) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BinaryExpr:
			found = append(found, n.OpPos)
		case *ast.UnaryExpr:
			found = append(found, n.OpPos)
		}
		return true
	})
	return found
}

func reached(at token.Position, blocks []cover.ProfileBlock) bool {
	for _, b := range blocks {
		begun := b.StartLine < at.Line || b.StartLine == at.Line && b.StartCol <= at.Column
		ended := b.EndLine < at.Line || b.EndLine == at.Line && b.EndCol <= at.Column
		if b.Count > 0 && begun && !ended {
			return true
		}
	}
	return false
}
