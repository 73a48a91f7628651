package misuse

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	// The Go command runs a cached test again after a change of a package that the test imports.
	_ "github.com/xdsforge/xdsforge"
	_ "github.com/xdsforge/xdsforge/framework/resource"
	_ "github.com/xdsforge/xdsforge/grpcxds"
	_ "github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	_ "github.com/xdsforge/xdsforge/plugins/cluster"
	_ "github.com/xdsforge/xdsforge/plugins/route"
	_ "github.com/xdsforge/xdsforge/xdstest"
	_ "google.golang.org/grpc"
)

// imports are the packages that a snippet may use. The name of each is the last element of its
// path.
func imports() []string {
	return []string{
		"context",
		"github.com/xdsforge/xdsforge",
		"github.com/xdsforge/xdsforge/framework/resource",
		"github.com/xdsforge/xdsforge/grpcxds",
		"github.com/xdsforge/xdsforge/grpcxds/httpfilter",
		"github.com/xdsforge/xdsforge/plugins/cluster",
		"github.com/xdsforge/xdsforge/plugins/route",
		"github.com/xdsforge/xdsforge/xdstest",
		"google.golang.org/grpc",
	}
}

// source completes a snippet to a file that imports the packages of the snippet.
func (s snippet) source() string {
	code := "var (\n\tctx context.Context\n\tc resource.Client\n)\n" + s.code
	var b strings.Builder
	b.WriteString("package snippet\n\n")
	for _, p := range imports() {
		if strings.Contains(code, path.Base(p)+".") {
			fmt.Fprintf(&b, "import %q\n", p)
		}
	}
	return b.String() + code
}

func TestSnippets(t *testing.T) {
	from := compiled(t)
	for _, s := range snippets() {
		t.Run(s.name, func(t *testing.T) {
			found := errorsOf(t, s.source(), from)
			switch {
			case s.want == "" && len(found) > 0:
				t.Errorf("it does not compile: %q", found)
			case s.want != "" && len(found) == 0:
				t.Errorf("it compiles; want an error with %q", s.want)
			case s.want != "" && (len(found) > 1 || !strings.Contains(found[0], s.want)):
				t.Errorf("errors %q; want a single one with %q", found, s.want)
			}
		})
	}
	if !slices.ContainsFunc(snippets(), func(s snippet) bool { return s.want == "" }) {
		t.Error("no snippet compiles; without one, a mistake in source would satisfy all others")
	}
}

// errorsOf returns the errors of type-checking a file.
func errorsOf(t *testing.T, source string, from types.Importer) (found []string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "snippet.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v in\n%s", err, source)
	}
	config := types.Config{Importer: from, Error: func(err error) { found = append(found, err.Error()) }}
	_, _ = config.Check("snippet", fset, []*ast.File{file}, nil) // Error gets the errors
	return found
}

// compiled returns an importer of the packages in imports. The Go command compiles them once for
// all snippets.
func compiled(t *testing.T) types.Importer {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Context: t.Context(),
		Mode:    packages.NeedName | packages.NeedImports | packages.NeedDeps | packages.NeedExportFile,
	}, imports()...)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]string)
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			t.Fatal(e)
		}
		files[p.PkgPath] = p.ExportFile
	})
	return importer.ForCompiler(token.NewFileSet(), "gc", func(p string) (io.ReadCloser, error) {
		return os.Open(files[p])
	})
}
