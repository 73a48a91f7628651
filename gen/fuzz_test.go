package gen_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/xdsforge/xdsforge/gen"
	"github.com/xdsforge/xdsforge/gen/internal/diag"
)

// FuzzGenerate checks the guarantees of the generator for any descriptor. It does not panic, and its
// diagnostics point into the file. Without a diagnostic, it returns formatted code, and also describes
// the type.
func FuzzGenerate(f *testing.F) {
	var all [][]byte
	for _, d := range goldens(f) {
		all = append(all, d.Data)
	}
	files, err := filepath.Glob("testdata/diag/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		all = append(all, diagCase(f, file))
	}
	for _, data := range all {
		f.Add(data)
	}
	index := loadFor(f, all...)
	f.Fuzz(func(t *testing.T, data []byte) {
		in := gen.Input{Descriptors: []gen.Descriptor{{Path: "resource.yaml", Data: data}}, Index: index}
		_, err := gen.Generate(t.Context(), in)
		if err == nil {
			_, explained := in.Explain(t.Context())
			_, schema := in.ResourceSchema(t.Context())
			_, pages := in.Pages(t.Context(), "docs")
			if err := errors.Join(explained, schema, pages); err != nil {
				t.Fatalf("the code has no error: %v", err)
			}
		}
		var faults diag.Errors
		if err != nil && !errors.As(err, &faults) {
			t.Fatalf("no diagnostic: %v", err)
		}
		lines := bytes.Split(data, []byte("\n"))
		for _, d := range faults {
			if d.Line < 1 || d.Line > len(lines) || d.Column < 1 || d.Column > len(lines[d.Line-1])+1 {
				t.Errorf("%v: the file has %d lines", d, len(lines))
			}
		}
	})
}
