package gen

import (
	"bytes"
	"errors"
	"fmt"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/emit"
	"github.com/xdsforge/xdsforge/gen/internal/slice"
)

// module is the Go module of a folder.
type module struct {
	root       string // its folder; empty if there is none
	path       string
	importPath string // of the package in the folder
}

// moduleOf finds the go.mod above a folder.
func moduleOf(dir string) (module, error) {
	folder, err := filepath.Abs(dir)
	if err != nil {
		return module{}, fmt.Errorf("gen: %w", err)
	}
	for dir := folder; ; {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			name := modfile.ModulePath(data)
			return module{dir, name, path.Join(name, filepath.ToSlash(strings.TrimPrefix(folder, dir)))}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return module{}, fmt.Errorf("gen: %w", err)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return module{}, nil
		}
		dir = parent
	}
}

// packageName returns the name of the Go package in a folder. It reads the hand-written
// files that are built, and falls back to the folder's name.
func packageName(dir string, bag *diag.Bag) string {
	for _, name := range handWritten(dir) {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		if err == nil {
			return f.Name.Name
		}
	}
	if name := folderName(dir, ""); name != "" {
		return name
	}
	bag.AddHint(diag.Pos{}, diag.BadIdentifier, "add a doc.go with a package clause", "the folder's name cannot be the name of a Go package")
	return ""
}

// handWritten returns the paths of the hand-written files in a folder that are built, without tests.
func handWritten(dir string) []string {
	names, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return slice.Filter(names, func(name string) bool {
		built, err := build.Default.MatchFile(filepath.Split(name))
		return err == nil && built && !strings.HasSuffix(name, "_test.go") && !generatedName(filepath.Base(name))
	})
}

func generatedName(name string) bool {
	return strings.HasSuffix(name, ".gen.go") || strings.HasSuffix(name, "_gen_test.go")
}

// Foreign returns the existing files at the paths of generated files that lack the
// generator's header. They are hand-written and must not be replaced.
func Foreign(files []File) []string {
	paths := slice.Map(files, func(f File) string { return f.Path })
	return slice.Filter(paths, func(path string) bool {
		data, err := os.ReadFile(path)
		return err == nil && !bytes.HasPrefix(data, []byte(emit.HeaderStart)) && !bytes.HasPrefix(data, []byte(emit.PageHeaderStart))
	})
}

// PageSource returns the descriptor of a page, as a path from the page's folder. It reports whether the
// page was generated.
func PageSource(page []byte) (descriptor string, generated bool) {
	line, _, _ := bytes.Cut(page, []byte("\n"))
	rest, generated := bytes.CutPrefix(line, []byte(emit.PageHeaderStart))
	descriptor, _, _ = strings.Cut(string(rest), ". DO NOT EDIT.")
	return descriptor, generated
}

// Orphans returns the files beside the descriptor that were generated from it and are no
// longer among files. The descriptor need not exist. Files without the generator's header
// are never orphans.
func (d Descriptor) Orphans(files []File) ([]string, error) {
	dir := filepath.Dir(d.Path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("gen: %w", err)
	}
	header := []byte(emit.Header(filepath.Base(d.Path)) + "\n")
	var orphans []string
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		if !generatedName(e.Name()) || slices.ContainsFunc(files, func(f File) bool { return f.Path == file }) {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("gen: %w", err)
		}
		if bytes.HasPrefix(data, header) {
			orphans = append(orphans, file)
		}
	}
	return orphans, nil
}
