// Package table prints the rows of the programs that attack a client and a server.
package table

import (
	"fmt"
	"io"
	"strings"

	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/internal/process"
)

// A Table has a row for each attack. It prints a row as soon as that is known, so its columns have fixed widths. [New]
// makes one.
type Table struct {
	out          io.Writer
	widths       []int
	rows, missed int
}

// cell is the least width of a column with a number.
const cell = 8

// New returns a table. The first column has names of at most so many characters. A column with the verdict, which
// names the missed bounds, is the last one.
func New(out io.Writer, names int, titles ...string) *Table {
	t := &Table{out: out, widths: []int{names}}
	for _, title := range titles[1:] {
		t.widths = append(t.widths, max(cell, len(title)))
	}
	t.print(titles, "verdict")
	return t
}

func (t *Table) print(columns []string, last string) {
	fmt.Fprintf(t.out, "%-*s", t.widths[0], columns[0])
	for i, c := range columns[1:] {
		fmt.Fprintf(t.out, "  %*s", t.widths[i+1], c)
	}
	fmt.Fprintln(t.out, "  "+last)
}

// Add prints a row with a verdict, and the bounds that the row missed.
func (t *Table) Add(missed []string, verdict string, columns ...any) {
	t.rows++
	texts := make([]string, 0, len(columns))
	for _, c := range columns {
		texts = append(texts, fmt.Sprint(c))
	}
	last := "ok: " + printable.Text(verdict, longest)
	if len(missed) > 0 {
		t.missed++
		last = "MISSED " + strings.Join(missed, ", ") + ": " + printable.Text(verdict, longest)
	}
	t.print(texts, last)
}

// longest is the limit of a verdict in bytes.
const longest = 110

// Close prints a closing line. It returns an error if a row missed a bound.
func (t *Table) Close() error {
	fmt.Fprintf(t.out, "\n%d attacks, %d missed a bound\n", t.rows, t.missed)
	if t.missed > 0 {
		return process.ErrMissed
	}
	return nil
}

// MiB returns bytes in MiB.
func MiB(n int64) string { return fmt.Sprintf("%.1f", float64(n)/(1<<20)) }
