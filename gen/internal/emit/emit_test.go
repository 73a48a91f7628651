package emit

import (
	"testing"

	"github.com/xdsforge/xdsforge/gen/internal/model"
)

// No import gets a name that something else of a generated file has.
func TestImportNames(t *testing.T) {
	names := map[string]string{
		"acme.test/validate":    "validate", // a name that every package may declare
		"acme.test/error":       "error",    // a predeclared name of Go
		"acme.test/x":           "x",        // a local variable
		"acme.test/hook":        "clean",    // a hook
		"acme.test/api/v1":      "apiv1",
		"acme.test/other/api":   "apiv1",
		"acme.test/under_score": "under_score",
	}
	e := &emitter{imports: make(map[string]bool), pkg: &model.Package{
		Update: &model.Struct{}, Finish: []string{"clean"},
		GoName: func(path string) (string, bool) { return names[path], true },
	}}
	for path := range names {
		e.imports[path] = true
	}
	want := map[string]string{
		"acme.test/validate": "validate2", "acme.test/error": "error2", "acme.test/x": "x2", "acme.test/hook": "clean2",
		"acme.test/api/v1": "apiv1", "acme.test/other/api": "apiv12", "acme.test/under_score": "underscore",
	}
	for path, name := range e.importTable() {
		if w, ok := want[path]; ok && name != w {
			t.Errorf("%s is imported as %s; want %s", path, name, w)
		}
	}
}
