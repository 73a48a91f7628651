// Package guides tests the pages below docs and the Examples: each block of Go code in a guide stands in a Go file that
// is compiled and tested, and each link leads to a file.
package guides

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// pages returns the texts of the pages in docs, of README and of the files beside it.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/guides/*.md", "docs/adr/*.md", "docs/types/*.md", ".github/*.md", "examples/*/README.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(root, name)
			if err != nil {
				t.Fatal(err)
			}
			texts[rel] = string(b)
		}
	}
	return texts
}

// TestLinks expects a file or folder for each relative link.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`(?:\]\(|src="|srcset=")([^)"#\s]+)(#[^)"]*)?[)"]`)
	count := 0
	for name, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			count++
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, m[1])
			}
		}
	}
	if count < 100 {
		t.Errorf("found %d links; want at least 100", count)
	}
}

// TestCode expects the lines of each Go block of a page, in their order and without their indentation, in one Go file of
// the repository. A line "…" stands for lines that the page leaves out. Decisions show code of their time, and pages of types
// the signatures of hooks.
func TestCode(t *testing.T) {
	sources := goFiles(t)
	count := 0
	for name, text := range pages(t) {
		if dir := filepath.Dir(name); dir == filepath.Join("docs", "adr") || dir == filepath.Join("docs", "types") {
			continue
		}
		for _, block := range blocks(text) {
			count++
			if !containsAny(sources, block) {
				t.Errorf("%s: no Go file contains this block:\n%s", name, block)
			}
		}
	}
	if count < 40 {
		t.Errorf("found %d blocks of code; want at least 40", count)
	}
}

// TestDecisions expects each decision to have a number of its own, in its file's name and heading, and one row in the list
// that links to it with its title.
func TestDecisions(t *testing.T) {
	list, err := os.ReadFile(filepath.Join(root, "docs", "adr", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(root, "docs", "adr", "[0-9]*.md"))
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 100 {
		t.Errorf("found %d decisions; want at least 100", len(names))
	}
	files := make(map[string]string) // by number
	for _, name := range names {
		base := filepath.Base(name)
		number := strings.TrimLeft(base[:4], "0")
		if other, ok := files[number]; ok {
			t.Errorf("%s has the number of %s", base, other)
		}
		files[number] = base
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		heading, _, _ := strings.Cut(string(b), "\n")
		title, ok := strings.CutPrefix(heading, "# "+number+". ")
		if !ok {
			t.Errorf("%s begins with %q; want its number %s and a title", base, heading, number)
			continue
		}
		row := "| " + number + " | [" + title + "](" + base + ") |"
		if n := strings.Count(string(list), row); n != 1 {
			t.Errorf("docs/adr/README.md has %d rows that begin with %q; want 1", n, row)
		}
	}
}

// blocks returns the Go blocks of a page, normalized.
func blocks(text string) (found []string) {
	for _, part := range strings.Split(text, "```go\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		found = append(found, normalize(block))
	}
	return found
}

// normalize removes indentation and empty lines.
func normalize(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// containsAny reports whether a source has the parts of a block, in their order.
func containsAny(sources []string, block string) bool {
	parts := strings.Split(block, "\n…\n")
	return slices.ContainsFunc(sources, func(source string) bool {
		for _, part := range parts {
			_, after, ok := strings.Cut(source, part)
			if !ok {
				return false
			}
			source = after
		}
		return true
	})
}

// goFiles returns all Go files of the repository, normalized.
func goFiles(t *testing.T) (texts []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, ".gen.go") {
			return nil
		}
		b, err := os.ReadFile(name)
		texts = append(texts, normalize(string(b)))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
