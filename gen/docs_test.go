package gen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/gen"
)

// guideDescriptors are the whole descriptors in the authors' guide.
func guideDescriptors(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("../docs/plugin-authors.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, block := range strings.Split(string(data), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		out = append(out, text)
	}
	if len(out) < 5 {
		t.Fatalf("only %d descriptors were found", len(out))
	}
	return out
}

// Every whole descriptor in the authors' guide can be generated from.
func TestGuide(t *testing.T) {
	for i, text := range guideDescriptors(t) {
		path := filepath.Join(t.TempDir(), "guide", "resource.yaml")
		index := loadFor(t, []byte(text))
		if _, err := gen.Generate(t.Context(), gen.Input{Descriptors: []gen.Descriptor{{Path: path, Data: []byte(text)}}, Index: index}); err != nil {
			t.Errorf("descriptor %d: %v\n%s", i+1, err, text)
		}
	}
}
