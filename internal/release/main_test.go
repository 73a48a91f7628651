package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each reason against a release is found, and named with its fix.
func TestCheck(t *testing.T) {
	const module, changelog = "module example.com/m\n\ngo 1.26\n", "# Changelog\n\n## 1.2.3 - 2026-01-02\n\n- News.\n\n## 1.2.2 - 2026-01-01\n\n- Old.\n"
	for name, tt := range map[string]struct {
		version, module, changelog, status, tag string
		want                                    string // part of the error, or "" for none
	}{
		"ready":                       {version: "v1.2.3"},
		"a pre-release needs no text": {version: "v1.3.0-rc.1"},
		"no version":                  {version: "1.2.3", want: "must be a semantic version"},
		"an incomplete version":       {version: "v1.2", want: "must be a semantic version"},
		"changes":                     {version: "v1.2.3", status: " M go.mod", want: "commit them"},
		"an existing tag":             {version: "v1.2.3", tag: "v1.2.3", want: "the tag v1.2.3 exists"},
		"no section":                  {version: "v1.2.4", want: `no section "## 1.2.4 - YYYY-MM-DD"`},
		"a section without a date":    {version: "v1.2.3", changelog: "\n## 1.2.3 - soon\n\n- News.\n", want: "needs a date"},
		"an empty section":            {version: "v1.2.3", changelog: "\n## 1.2.3 - 2026-01-02\n\n## 1.2.2 - 2026-01-01\n\n- Old.\n", want: "at least one line"},
		"a replaced module":           {version: "v1.2.3", module: module + "replace example.com/a => ../a\n", want: "replace example.com/a"},
		"a major version":             {version: "v2.0.0", changelog: "\n## 2.0.0 - 2026-01-02\n\n- News.\n", want: "needs the path suffix /v2"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "go.mod"), tt.module, module)
			write(t, filepath.Join(dir, "CHANGELOG.md"), tt.changelog, changelog)
			err := check(dir, tt.version, func(_ string, args ...string) (string, error) {
				return map[string]string{"status": tt.status, "tag": tt.tag}[args[0]], nil
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

func write(t *testing.T, name, text, otherwise string) {
	t.Helper()
	if text == "" {
		text = otherwise
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The repository's own changelog and module are in order for its next pre-release.
func TestRepository(t *testing.T) {
	none := func(string, ...string) (string, error) { return "", nil }
	if err := check("../..", "v0.999.0-rc.1", none); err != nil {
		t.Error(err)
	}
}
