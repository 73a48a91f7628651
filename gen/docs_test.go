package gen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/gen"
)

// Every whole descriptor in the authors' guide can be generated from.
func TestGuide(t *testing.T) {
	data, err := os.ReadFile("../docs/plugin-authors.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for i, block := range strings.Split(string(data), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		found++
		path := filepath.Join(t.TempDir(), "guide", "resource.yaml")
		index := loadFor(t, []byte(text))
		if _, err := gen.Generate(t.Context(), gen.Input{Descriptors: []gen.Descriptor{{Path: path, Data: []byte(text)}}, Index: index}); err != nil {
			t.Errorf("descriptor %d: %v\n%s", i+1, err, text)
		}
	}
	if found < 5 {
		t.Errorf("only %d descriptors were found", found)
	}
}
