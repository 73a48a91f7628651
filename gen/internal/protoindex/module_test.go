package protoindex_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"

	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
)

// module makes a module of its own that has the test messages in package
// example.test/third/pb, with the versions of this repository's dependencies.
func module(t *testing.T, edit func(source []byte) []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	source, err := os.ReadFile("../../testdata/testpb/test.pb.go")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("../../../go.sum")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", data, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := mod.AddModuleStmt("example.test/third"); err != nil {
		t.Fatal(err)
	}
	for _, tool := range mod.Tool {
		if err := mod.DropTool(tool.Path); err != nil {
			t.Fatal(err)
		}
	}
	if data, err = mod.Format(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"go.mod": data, "go.sum": sums, "pb/test.pb.go": edit(source), "doc.go": []byte("package third\n")} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func third() []protoindex.Want {
	return []protoindex.Want{{Message: "xdsforge.test.v1.Thing", GoPackage: "example.test/third/pb"}}
}

func TestThirdParty(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	for name, edit := range map[string]func([]byte) []byte{
		"as it is": func(b []byte) []byte { return b },
		"does not compile": func(b []byte) []byte {
			return append(b, "\nvar broken int = undefined(\n"...)
		},
		"older form": func(b []byte) []byte {
			return bytes.Replace(b, []byte("_rawDesc = \"\" +"), []byte("_rawDesc = string([]byte{}) + (\"\") +"), 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := load(t, protoindex.Config{Dir: module(t, edit), Wants: third()})
			m := message(t, x, "xdsforge.test.v1.Thing")
			if got := m.GoIdent.GoImportPath; got != "example.test/third/pb" {
				t.Errorf("import path %s", got)
			}
		})
	}
}

// A package whose source does not show its descriptor needs a descriptor set.
func TestHidden(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOPROXY", "off")
	dir := module(t, func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("_rawDesc"), []byte("_hidden")) })
	x := load(t, protoindex.Config{Dir: dir, Wants: third()})
	if _, err := x.Message("xdsforge.test.v1.Thing"); err == nil || !strings.Contains(err.Error(), "give a descriptor set") {
		t.Errorf("error %v; want one that asks for a descriptor set", err)
	}
}

// If the toolchain cannot find a package, the error ends with a command that adds it.
func TestMissingSum(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=readonly")
	t.Setenv("GOPROXY", "off")
	dir := module(t, func(b []byte) []byte { return b })
	sums, err := os.ReadFile(filepath.Join(dir, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	var kept []byte
	for line := range bytes.Lines(sums) {
		if !bytes.HasPrefix(line, []byte("github.com/envoyproxy/go-control-plane/envoy ")) || bytes.Contains(line, []byte("/go.mod ")) {
			kept = append(kept, line...)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), kept, 0o600); err != nil {
		t.Fatal(err)
	}
	const name = "envoy.service.runtime.v3.Runtime"
	x := load(t, protoindex.Config{Dir: dir, Wants: []protoindex.Want{{Message: name}}})
	const want = "; to add it: go get github.com/envoyproxy/go-control-plane/envoy/service/runtime/v3"
	if _, err := x.Message(name); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error %v\nmust end in %q", err, want)
	}
}
