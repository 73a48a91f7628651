package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// An equivalent is a mutant that no test can notice, because the program does the
// same with it. It is found by the text of its line, so that it survives changes
// elsewhere.
type equivalent struct {
	File    string `yaml:"file"`    // from the root of the module
	Func    string `yaml:"func"`    // the function or Type.method; empty outside of functions
	Line    string `yaml:"line"`    // the text of the line, without indentation
	Mutator string `yaml:"mutator"` // in gremlins' words
	// Nth picks one of several matches, in order of the file and counted from 1. 0
	// matches all of them.
	Nth    int    `yaml:"nth"`
	Reason string `yaml:"reason"`
}

type equivalents []equivalent

// readEquivalents reads the list. Every entry needs a reason.
func readEquivalents(name string) (equivalents, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var list equivalents
	if err := d.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, e := range list {
		if e.File == "" || e.Line == "" || e.Mutator == "" || e.Reason == "" {
			return nil, fmt.Errorf("%s: entry %d needs a file, a line, a mutator and a reason", name, i+1)
		}
	}
	return list, nil
}

// of returns the entries of one package.
func (l equivalents) of(dir string) equivalents {
	return slices.DeleteFunc(slices.Clone(l), func(e equivalent) bool { return path.Dir(e.File) != dir })
}

// mark marks the mutants that the list has. Mutants are in the order of the file. An
// entry that matches nothing is a fault.
func (l equivalents) mark(mutants []mutant) (faults []error) {
	for _, e := range l {
		nth, found := 0, false
		for i := range mutants {
			if m := &mutants[i]; e.matches(*m) {
				nth++
				if e.Nth == 0 || e.Nth == nth {
					m.equivalent, found = true, true
				}
			}
		}
		if !found {
			faults = append(faults, fmt.Errorf("the list of equivalent mutants has a stale entry: %s = %s %q in %q; no such mutant", e.File, e.Mutator, e.Line, e.Func))
		}
	}
	return faults
}

func (e equivalent) matches(m mutant) bool {
	return path.Base(e.File) == m.File && e.Func == m.function && e.Line == m.Text && e.Mutator == m.Mutator
}

// locate fills in the line's text and the function of each mutant.
func locate(folder string, mutants []mutant) error {
	lines, functions := make(map[string][]string), make(map[string][]string)
	for i := range mutants {
		m := &mutants[i]
		if lines[m.File] == nil {
			text, err := os.ReadFile(filepath.Join(folder, m.File))
			if err != nil {
				return err
			}
			lines[m.File] = strings.Split(string(text), "\n")
			if functions[m.File], err = functionsByLine(text, len(lines[m.File])); err != nil {
				return err
			}
		}
		m.Text = strings.TrimSpace(lines[m.File][m.Line-1])
		m.function = functions[m.File][m.Line-1]
	}
	return nil
}

// functionsByLine returns the name of the function that each line belongs to.
func functionsByLine(text []byte, count int) ([]string, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	names := make([]string, count)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := f.Name.Name
		if f.Recv != nil {
			name = receiver(f.Recv.List[0].Type) + "." + name
		}
		for line := set.Position(f.Pos()).Line; line <= set.Position(f.End()).Line; line++ {
			names[line-1] = name
		}
	}
	return names, nil
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
