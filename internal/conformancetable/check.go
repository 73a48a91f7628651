package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// The documents whose tables are checked. The first has one, the second may have several.
const (
	document = "docs/conformance.md"
	trust    = "docs/trust.md"
)

// A row is a rule, where it is kept, and by which tests.
type row struct {
	document string
	line     int
	packages []string
	tests    []string
}

// check returns the faults of the tables, one line each. The document about trust is
// optional.
func check(root fs.FS) (faults []string, err error) {
	text, err := fs.ReadFile(root, document)
	if err != nil {
		return nil, fmt.Errorf("reading the table: %w", err)
	}
	rows, faults := parse(document, string(text), false)
	switch text, err = fs.ReadFile(root, trust); {
	case err == nil:
		more, wrong := parse(trust, string(text), true)
		rows, faults = append(rows, more...), append(faults, wrong...)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("reading the tables: %w", err)
	}
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
				faults = append(faults, r.fault("%s does not exist in %s", t, strings.Join(r.packages, ", ")))
			}
		}
	}
	return faults, nil
}

func (r row) fault(format string, args ...any) string {
	return fmt.Sprintf("%s:%d: ", r.document, r.line) + fmt.Sprintf(format, args...)
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

// parse reads the rows of a document's first table, or of all: gRFC, rule, package, test.
func parse(document, text string, all bool) (rows []row, faults []string) {
	in, found := false, false
	for i, line := range strings.Split(text, "\n") {
		switch {
		case !strings.HasPrefix(line, "|") && in && !all:
			return rows, faults
		case !strings.HasPrefix(line, "|") && in:
			in = false
			continue
		case !strings.HasPrefix(line, "|"):
			continue
		case !in:
			in, found = true, true // the head
			continue
		case strings.HasPrefix(line, "|--"), strings.HasPrefix(line, "| --"):
			continue
		}
		r := row{document: document, line: i + 1}
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
	if !found {
		faults = append(faults, document+": has no table")
	}
	return rows, faults
}

func names(cell string) (names []string) {
	for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
		names = append(names, m[1])
	}
	return names
}

// testsOf finds the tests, fuzz targets and examples of a package, by their names, and the
// scenarios of its scripts. A package that does not exist has none.
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
	if !tests[scripts] {
		return tests, nil
	}
	return tests, addScenarios(root, dir, tests)
}

// scripts is the test that runs the scripts of a package: testdata/FILE.txt with "subtest NAME" lines.
const scripts = "TestScripts"

// addScenarios adds the names of script files, TestScripts/FILE, and of the scenarios in them,
// TestScripts/FILE/NAME.
func addScenarios(root fs.FS, dir string, tests map[string]bool) error {
	files, err := fs.Glob(root, path.Join(dir, "testdata", "*.txt"))
	if err != nil {
		return fmt.Errorf("package %q: %w", dir, err)
	}
	for _, file := range files {
		text, err := fs.ReadFile(root, file)
		if err != nil {
			return err
		}
		name := scripts + "/" + strings.TrimSuffix(path.Base(file), ".txt")
		tests[name] = true
		for line := range strings.Lines(string(text)) {
			if scenario, ok := strings.CutPrefix(strings.TrimSpace(line), "subtest "); ok && scenario != "end" {
				tests[name+"/"+scenario] = true
			}
		}
	}
	return nil
}

func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Fuzz", "Example"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
