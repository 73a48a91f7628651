package gen_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/xdsforge/xdsforge/gen"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
	"github.com/xdsforge/xdsforge/gen/internal/model"
	"github.com/xdsforge/xdsforge/gen/internal/protoindex"
	"github.com/xdsforge/xdsforge/gen/internal/rule"
)

// loadFor loads an index of the messages that descriptors name.
func loadFor(t testing.TB, descriptors ...[]byte) *protoindex.Index {
	t.Helper()
	c := protoindex.Config{Dir: "."}
	for _, data := range descriptors {
		bag := new(diag.Bag)
		if d := rule.Language().Parse(data, bag); bag.Len() == 0 {
			c.Wants = append(c.Wants, model.Messages(d)...)
		}
	}
	index, err := protoindex.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// diagCase is the descriptor of a case.
func diagCase(t testing.TB, file string) []byte {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return part(t, a, "resource.yaml")
}

// part is one file of an archive.
func part(t testing.TB, a *txtar.Archive, name string) []byte {
	t.Helper()
	for _, f := range a.Files {
		if f.Name == name {
			return f.Data
		}
	}
	t.Fatalf("the case has no file %s", name)
	return nil
}

// Every diagnostic code has a case. Set UPDATE in the environment to rewrite the cases, and review
// the changes.
func TestDiagnostics(t *testing.T) {
	files, err := filepath.Glob("testdata/diag/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	cases := make(map[string]*txtar.Archive)
	var all [][]byte
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		cases[file] = a
		all = append(all, part(t, a, "resource.yaml"))
	}
	index := loadFor(t, all...)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			a := cases[file]
			var faults, warnings diag.Errors
			_, err := gen.Generate(t.Context(), gen.Input{
				Descriptors: []gen.Descriptor{{Path: "resource.yaml", Data: part(t, a, "resource.yaml")}}, Index: index,
				Warn: func(w diag.Errors) { warnings = w },
			})
			if !errors.As(err, &faults) && len(warnings) == 0 {
				t.Fatalf("error %v; want diagnostics", err)
			}
			faults = append(faults, warnings...)
			got := faults.Error() + "\n"
			if code, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".txtar"), "_"); !strings.Contains(got, "["+code+"]") {
				t.Errorf("%s is not among\n%s", code, got)
			}
			if os.Getenv("UPDATE") != "" {
				a.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(part(t, a, "want")), got); diff != "" {
				t.Errorf("diagnostics (-want +got):\n%s", diff)
			}
		})
	}
	reference, err := os.ReadFile("../docs/descriptor.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`(?m)^\| (XG\d+) \|`).FindAllSubmatch(reference, -1)
	for _, c := range codes {
		if _, ok := cases["testdata/diag/"+string(c[1])+".txtar"]; !ok {
			t.Errorf("no case for %s", c[1])
		}
	}
	if len(codes) == 0 {
		t.Error("the reference has no codes")
	}
}
