package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write creates the files of a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// smallModule has one package of each class.
func smallModule(t *testing.T) string {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"go.mod":                    "module " + module + "\n\ngo 1.26\n",
		"a.go":                      "package a\n\ntype Front struct{ Door int }\n\nfunc (Front) Open() {}\n",
		"plugins/secret/secret.go":  "package secret\n\nvar One, Two int\n",
		"framework/client/c.go":     "package client\n\nfunc New() {}\n",
		"framework/internal/i/i.go": "package i\n\nfunc Hidden() {}\n",
		"command/main.go":           "package main\n\nfunc Exported() {}\n\nfunc main() {}\n",
		"a_test.go":                 "package a\n\nfunc OfTest() {}\n",
	})
	return dir
}

const smallList = `# The exported API of example.com/module. make api writes this file.
#
#    2 names without the extra resource types
#    1 of them under the promise
#    2 names of the extra resource types

# Under the promise

module: type Front struct
module: type Front struct, Door int
module: method (Front) Open()

# Outside the promise

framework/client: func New()

# Extra resource types, outside the promise

plugins/secret: var One int
plugins/secret: var Two int
`

func TestRun(t *testing.T) {
	dir := smallModule(t)
	p := plan{dir: dir, list: "api/v1.txt", base: "api/base", limits: [3]int{2, 1, 2}, enforce: true}
	var out strings.Builder
	if err := run(t.Context(), &p, &out); !errors.Is(err, errFailed) || !strings.Contains(out.String(), "make api") {
		t.Errorf("without a list: %v, output %q; want an error and the target to run", err, &out)
	}
	p.write = true
	if err := run(t.Context(), &p, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, p.list)); err != nil || string(got) != smallList {
		t.Errorf("list, %v:\n%s\nwant:\n%s", err, got, smallList)
	}
	p.write = false
	if err := run(t.Context(), &p, io.Discard); err != nil {
		t.Errorf("with the list that was written: %v", err)
	}
	p.limits[0]--
	if err := run(t.Context(), &p, io.Discard); !errors.Is(err, errFailed) {
		t.Errorf("with a count above its limit: %v, want %v", err, errFailed)
	}
	p.limits[0]++
	p.list = "plugins"
	if err := run(t.Context(), &p, io.Discard); err == nil || errors.Is(err, errFailed) {
		t.Errorf("with a folder as the list: %v, want the error of reading it", err)
	}
	p.list = "api/v1.txt"
	write(t, dir, map[string]string{"b.go": "package a\n\nconst Added = 1\n"})
	out.Reset()
	err := run(t.Context(), &p, &out)
	if !errors.Is(err, errFailed) || !strings.Contains(out.String(), "+module: const Added untyped int = 1") {
		t.Errorf("with another name: %v, output %q; want an error and the line of the name", err, &out)
	}
	write(t, dir, map[string]string{"b.go": "package a\n\nconst Added = missing\n"})
	if err := run(t.Context(), &p, io.Discard); err == nil || errors.Is(err, errFailed) {
		t.Errorf("with code that does not compile: %v, want the compiler's error", err)
	}
}

func TestLimits(t *testing.T) {
	counts := [3]count{{3, "names"}, {2, "promised"}, {1, "extra"}}
	for i := range counts {
		p := plan{limits: [3]int{3, 2, 1}, enforce: true}
		if !p.checkCounts(counts, io.Discard) {
			t.Error("counts at their limits fail")
		}
		p.limits[i]--
		var out strings.Builder
		if p.checkCounts(counts, &out) || strings.Count(out.String(), "too many") != 1 {
			t.Errorf("count %d above its limit passes, or is not named: %q", i, &out)
		}
		p.enforce = false
		out.Reset()
		if !p.checkCounts(counts, &out) || !strings.Contains(out.String(), "too many, not enforced yet") {
			t.Errorf("count %d above a limit that is not enforced fails, or is not reported: %q", i, &out)
		}
	}
}
