package table

import (
	"errors"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/internal/process"
)

// The columns are aligned, the verdicts are printable, and the closing line counts the rows.
func TestTable(t *testing.T) {
	var out strings.Builder
	rows := New(&out, 12, "attack", "memory", "a long title")
	rows.Add(nil, "accepted", "short", 1, "2.0")
	rows.Add([]string{"memory", "delay"}, "bad\x1b", "twelve chars", 300, 4)
	err := rows.Close()
	want := strings.Join([]string{
		"attack          memory  a long title  verdict",
		"short                1           2.0  ok: accepted",
		`twelve chars       300             4  MISSED memory, delay: bad\x1b`,
		"",
		"2 attacks, 1 missed a bound",
		"",
	}, "\n")
	if out.String() != want || !errors.Is(err, process.ErrMissed) {
		t.Errorf("the table is\n%s\nwith the error %v, want\n%s\nwith %v", out.String(), err, want, process.ErrMissed)
	}
}
