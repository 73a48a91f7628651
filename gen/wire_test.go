package gen_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/gen"
)

// The tests of every golden package hold with the other decoder too, and the two
// decoders agree on all seeds of the generated fuzz target. The packages are built
// through an overlay.
func TestWire(t *testing.T) {
	overlay, packages := wireOverlay(t)
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", "-vet=off", "-overlay", overlay}, packages...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// wireOverlay makes an overlay for the Go command with the code that the golden
// descriptors would have with `decoder: wire`, every other with `strict: true`.
func wireOverlay(t *testing.T) (path string, packages []string) {
	t.Helper()
	var descriptors []gen.Descriptor
	for i, d := range goldens(t) {
		if !strings.Contains(d.Path, "outputtest") || bytes.Contains(d.Data, []byte("decoder: wire")) {
			continue
		}
		key := "  decoder: wire\n"
		if i%2 > 0 {
			key += "  strict: true\n"
		}
		d.Data = bytes.Replace(d.Data, []byte("\n  name: "), []byte("\n"+key+"  name: "), 1)
		descriptors = append(descriptors, d)
		packages = append(packages, "./"+filepath.Dir(d.Path))
	}
	files, err := gen.Generate(t.Context(), gen.Input{Descriptors: descriptors})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	replace := make(map[string]string)
	for i, f := range files {
		if filepath.Base(f.Path) == "conformance_gen_test.go" {
			continue // it has the sum of the descriptor in the folder
		}
		to, err := filepath.Abs(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		replace[to] = filepath.Join(dir, strconv.Itoa(i)+".go")
		if err := os.WriteFile(replace[to], f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, packages
}

// The decoder makes a struct of each element of a list, or several. The element costs at least their size. A whole message costs
// a pointer, because unmarshalling it has a cost of its own.
func TestCostsOfElements(t *testing.T) {
	const head = `version: v1
resource:
  message: xdsforge.test.v1.Thing
  go: github.com/xdsforge/xdsforge/gen/testdata/testpb
  name: name
  sotw: partial
  decoder: wire

`
	const part = `
structs:
  P: {fields: [{name: Size, from: size}]}
`
	for fields, want := range map[string]string{
		"fields: [{name: One, from: parts, each: P}]\n" + part:                                             "Scratch[P](&m.Parts, r)",
		"fields: [{name: Two, from: [parts.box.part, parts.box.part.box.part], each: P}]\n" + part:         "Scratch[struct { _ P _ P }](&m.Parts, r)",
		"fields: [{name: One, from: parts, each: P}, {name: Two, from: parts.box.part, each: P}]\n" + part: "Scratch[struct { _ P _ P }](&m.Parts, r)",
		"fields: [{name: Sizes, from: parts.size}]\n":                                                      "Scratch[wirePart](&m.Parts, r)",
		"fields: [{name: Count, hook: count, needs: parts, type: int}]\n":                                  "Scratch[*testpb.Part](&m.Parts, r)",
		"fields: [{name: Tags, from: tags}]\n":                                                             "Element[string](&m.Tags, r)",
	} {
		data := []byte(head + fields)
		files, err := gen.Generate(t.Context(), gen.Input{Descriptors: []gen.Descriptor{{Path: "costs/resource.yaml", Data: data}}, Index: loadFor(t, data)})
		if err != nil {
			t.Errorf("%s: %v", fields, err)
			continue
		}
		i := slices.IndexFunc(files, func(f gen.File) bool { return filepath.Base(f.Path) == "wire.gen.go" })
		if code := strings.Join(strings.Fields(string(files[i].Data)), " "); !strings.Contains(code, "wire."+want) {
			t.Errorf("the decoder of %s does not call wire.%s", fields, want)
		}
	}
}
