package files

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/source"
)

// ignorant is a sink that needs nothing.
type ignorant struct{}

// Apply implements [source.Sink].
func (ignorant) Apply(source.Change) error { return nil }

// State implements [source.Sink].
func (ignorant) State(source.State) {}

// Thousands of rejections are few lines, of which the last one says so.
func TestRejectionsAreFewLines(t *testing.T) {
	path := t.TempDir()
	if err := os.WriteFile(filepath.Join(path, "a.json"), []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	d, err := Open(path, Options{Logger: slog.New(slog.NewTextHandler(&lines, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Open(t.Context(), ignorant{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 9000 {
		s.Report(source.Rejection{Type: "t", Text: fmt.Sprint(i)})
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	list := strings.Split(strings.TrimSpace(lines.String()), "\n")
	if len(list) != maxRejections+1 || !strings.Contains(list[0], "error=0") || !strings.Contains(list[maxRejections], "further rejections are not logged") {
		t.Errorf("9,000 rejections are %d lines, want %d and one that says so", len(list), maxRejections)
	}
}
