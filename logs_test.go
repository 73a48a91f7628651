package xdsforge_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A logLine is a line that the code logs.
type logLine struct{ level, message string }

// logCall returns the line of a call that logs, if the call is one.
func logCall(call *ast.CallExpr) (logLine, bool) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return logLine{}, false
	}
	level, args := f.Sel.Name, call.Args
	switch level {
	case "Debug", "Info", "Warn", "Error":
		switch x := f.X.(type) {
		case *ast.SelectorExpr:
			if x.Sel.Name != "logger" && x.Sel.Name != "Logger" {
				return logLine{}, false
			}
		case *ast.Ident:
			if x.Name != "l" && x.Name != "logger" {
				return logLine{}, false
			}
		}
	case "log":
		level, args = "any", args[1:]
		if s, ok := call.Args[0].(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Level") {
			level = strings.TrimPrefix(s.Sel.Name, "Level")
		} else if x, ok := call.Args[0].(*ast.Ident); !ok || x.Name != "level" {
			return logLine{}, false
		}
	default:
		return logLine{}, false
	}
	if len(args) == 0 {
		return logLine{}, false
	}
	text, ok := args[0].(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return logLine{level, "a message that is no literal"}, true
	}
	message, err := strconv.Unquote(text.Value)
	return logLine{level, message}, err == nil
}

// logged returns the lines of the packages that log, with the files that have them.
func logged(t *testing.T) map[logLine]string {
	t.Helper()
	lines := make(map[logLine]string)
	for _, dir := range []string{"framework", "internal/dataplane", "internal/environment", "internal/durable", "internal/statedir", "grpcxds", "httpxds", "relay", "serve", "store"} {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					if line, ok := logCall(call); ok {
						lines[line] = path
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

var logRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (\\w+) \\|")

// docs/logs.md lists every line that the code logs, and no other.
func TestLogsAreListed(t *testing.T) {
	doc, err := os.ReadFile("docs/logs.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[logLine]bool)
	for _, row := range logRow.FindAllStringSubmatch(string(doc), -1) {
		listed[logLine{row[2], row[1]}] = true
	}
	code := logged(t)
	if len(code) < 20 {
		t.Errorf("the code logs %d lines; the test does not find them", len(code))
	}
	for line, path := range code {
		if !listed[line] {
			t.Errorf("docs/logs.md does not list %q of level %s, which %s logs", line.message, line.level, path)
		}
	}
	for line := range listed {
		if _, ok := code[line]; !ok {
			t.Errorf("docs/logs.md lists %q of level %s, which nothing logs", line.message, line.level)
		}
	}
}
