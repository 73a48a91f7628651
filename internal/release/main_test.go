package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each reason against a release is found, and named with its fix.
func TestCheck(t *testing.T) {
	const module, beside, changelog = "module example.com/m\n\ngo 1.26\n", "module example.com/m/a\n\nrequire example.com/m v1.2.3\n\nreplace example.com/m => ..\n",
		"# Changelog\n\n## 1.2.3 - 2026-01-02\n\n- News.\n\n## 1.2.2 - 2026-01-01\n\n- Old.\n"
	for name, tt := range map[string]struct {
		version, module, beside, changelog, status, tag string
		want                                            string // part of the error, or "" for none
	}{
		"ready":                       {version: "v1.2.3"},
		"a pre-release needs no text": {version: "v1.3.0-rc.1", beside: "module example.com/m/a\n"},
		"no version":                  {version: "1.2.3", want: "must be a semantic version"},
		"an incomplete version":       {version: "v1.2", want: "must be a semantic version"},
		"changes":                     {version: "v1.2.3", status: " M go.mod", want: "commit them"},
		"an existing tag":             {version: "v1.2.3", tag: "v1.2.3", want: "the tag v1.2.3 exists"},
		"an existing tag of a folder": {version: "v1.2.3", tag: "a/v1.2.3", want: "the tag a/v1.2.3 exists"},
		"no section":                  {version: "v1.2.4", want: `no section "## 1.2.4 - YYYY-MM-DD"`},
		"a section without a date":    {version: "v1.2.3", changelog: "\n## 1.2.3 - soon\n\n- News.\n", want: "needs a date"},
		"an empty section":            {version: "v1.2.3", changelog: "\n## 1.2.3 - 2026-01-02\n\n## 1.2.2 - 2026-01-01\n\n- Old.\n", want: "at least one line"},
		"a replaced module":           {version: "v1.2.3", module: module + "replace example.com/a => ../a\n", want: "go.mod: replace example.com/a"},
		"a module replaced beside":    {version: "v1.2.3", beside: "module example.com/m/a\n\nreplace example.com/b => ../b\n", want: "a/go.mod: replace example.com/b"},
		"the main module replaced":    {version: "v1.2.3", module: module + "replace example.com/m/a => ./a\n", want: "go.mod: replace example.com/m/a"},
		"an old version required": {
			version: "v1.2.3", beside: "module example.com/m/a\n\nrequire example.com/m v0.0.0\n",
			want: "a/go.mod: require example.com/m v0.0.0; no such version is released: run go mod edit -require=example.com/m@v1.2.3 a/go.mod",
		},
		"a major version": {version: "v2.0.0", changelog: "\n## 2.0.0 - 2026-01-02\n\n- News.\n", want: "needs the path suffix /v2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), tt.module, module)
			write(t, filepath.Join(dir, "a", "go.mod"), tt.beside, beside)
			write(t, filepath.Join(dir, "internal", "b", "go.mod"), "module example.com/m/internal/b\n\nreplace example.com/b => ../b\n", "")
			write(t, filepath.Join(dir, "CHANGELOG.md"), tt.changelog, changelog)
			err := check(dir, tt.version, func(_ string, args ...string) (string, error) {
				if args[0] == "status" {
					return tt.status, nil
				}
				if tt.tag == args[len(args)-1] {
					return tt.tag, nil
				}
				return "", nil
			})
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("check = %v, want no reason", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("check = %v, want %q in it", err, tt.want)
			}
		})
	}
}

// TestModulesOfNothing expects the error of a folder that is missing.
func TestModulesOfNothing(t *testing.T) {
	if _, err := modules(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("modules = %v, want %v", err, fs.ErrNotExist)
	}
}

func write(t *testing.T, name, text, otherwise string) {
	t.Helper()
	if text == "" {
		text = otherwise
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRepository expects the repository to be ready for a pre-release after the commands that the check
// prints. It runs them on a copy of its go.mod files.
func TestRepository(t *testing.T) {
	const root, version = "../..", "v0.999.0-rc.1"
	folders, err := modules(root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"v1.0.0", "cel/v1.0.0", "store/etcd/v1.0.0", "tools/xdsctl/v1.0.0", "tools/xdsd/v1.0.0"}
	if got, err := tags(root, "v1.0.0"); err != nil || !slices.Equal(got, want) {
		t.Fatalf("tags = %q, %v; want %q", got, err, want)
	}
	dir := t.TempDir()
	for _, folder := range folders {
		b, err := os.ReadFile(filepath.Join(root, folder, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, folder, "go.mod"), string(b), "")
	}
	none := func(string, ...string) (string, error) { return "", nil }
	err = check(dir, version, none)
	if err == nil {
		t.Fatal("check = nil, want the requirements of the modules beside the main one")
	}
	for line := range strings.Lines(err.Error()) {
		_, command, ok := strings.Cut(strings.TrimSpace(line), ": run go ")
		if !ok {
			t.Fatalf("check = %v, want only reasons with a command", err)
		}
		cmd := exec.Command("go", strings.Fields(command)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v: %s", command, err, out)
		}
	}
	if err := check(dir, version, none); err != nil {
		t.Errorf("check after the commands = %v, want no reason", err)
	}
}
