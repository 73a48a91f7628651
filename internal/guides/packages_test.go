package guides

import (
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var (
	unlisted = regexp.MustCompile(`(^|/)(internal|testdata|examples|tools|node_modules|\.[a-z]+)$`)
	example  = regexp.MustCompile(`(?m)^func Example`)
)

// Every package that programs of others can import has an Example.
func TestPackagesHaveExamples(t *testing.T) {
	packages := 0
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || name == root {
			return err
		}
		if unlisted.MatchString(filepath.ToSlash(name)) {
			return filepath.SkipDir
		}
		p, err := build.ImportDir(name, 0)
		if err != nil || p.Name == "main" {
			return nil //nolint:nilerr // a folder without a package to import
		}
		packages++
		for _, file := range append(p.TestGoFiles, p.XTestGoFiles...) {
			text, err := os.ReadFile(filepath.Join(name, file))
			if err != nil {
				return err
			}
			if example.Match(text) {
				return nil
			}
		}
		t.Errorf("package %s has no Example", name)
		return nil
	})
	if err != nil || packages < 50 {
		t.Errorf("%d packages, %v; want all of them", packages, err)
	}
}
