package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

const document = "docs/conformance.md"

// A row is a rule, where it is kept, and by which tests.
type row struct {
	line     int
	packages []string
	tests    []string
}

// check returns what is wrong with the table, one line each.
func check(root fs.FS) (faults []string, err error) {
	text, err := fs.ReadFile(root, document)
	if err != nil {
		return nil, fmt.Errorf("reading the table: %w", err)
	}
	rows, faults := parse(string(text))
	known := make(map[string]map[string]bool) // package -> tests
	for _, r := range rows {
		for _, p := range r.packages {
			if known[p] == nil {
				if known[p], err = testsOf(root, p); err != nil {
					return nil, err
				}
			}
			if len(known[p]) == 0 {
				faults = append(faults, r.fault("package %s has no tests", p))
			}
		}
		for _, t := range r.tests {
			if !r.has(known, t) {
				faults = append(faults, r.fault("there is no %s in %s", t, strings.Join(r.packages, ", ")))
			}
		}
	}
	return faults, nil
}

func (r row) fault(format string, args ...any) string {
	return fmt.Sprintf("%s:%d: ", document, r.line) + fmt.Sprintf(format, args...)
}

func (r row) has(known map[string]map[string]bool, test string) bool {
	for _, p := range r.packages {
		if known[p][test] {
			return true
		}
	}
	return false
}

var quoted = regexp.MustCompile("`([^`]+)`")

// parse reads the rows of the document's first table: gRFC, rule, package, test.
func parse(text string) (rows []row, faults []string) {
	in := false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case !strings.HasPrefix(line, "|") && in:
			return rows, faults
		case !strings.HasPrefix(line, "|"):
			continue
		case !in:
			in = true // the head
			continue
		case strings.HasPrefix(line, "|--"), strings.HasPrefix(line, "| --"):
			continue
		}
		r := row{line: i + 1}
		// A rule may have an escaped bar in it, packages and tests have none.
		cells := strings.Split(strings.Trim(line, "| "), "|")
		if len(cells) < 4 {
			faults = append(faults, r.fault("a row has four columns: gRFC, rule, package, test"))
			continue
		}
		r.packages, r.tests = names(cells[len(cells)-2]), names(cells[len(cells)-1])
		if len(r.packages) == 0 || len(r.tests) == 0 {
			faults = append(faults, r.fault("a row names a package and a test"))
			continue
		}
		rows = append(rows, r)
	}
	if !in {
		faults = append(faults, document+": there is no table")
	}
	return rows, faults
}

func names(cell string) (names []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		names = append(names, m[1])
	}
	return names
}

// testsOf finds the tests, fuzz targets and examples of a package, by their names. A
// package that is not there has none.
func testsOf(root fs.FS, dir string) (map[string]bool, error) {
	tests := make(map[string]bool)
	files, err := fs.Glob(root, path.Join(dir, "*_test.go"))
	if err != nil {
		return nil, fmt.Errorf("package %q: %w", dir, err)
	}
	for _, file := range files {
		source, err := fs.ReadFile(root, file)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && isTest(fn.Name.Name) {
				tests[fn.Name.Name] = true
			}
		}
	}
	return tests, nil
}

func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
