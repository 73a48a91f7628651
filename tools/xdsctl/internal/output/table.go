package output

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Cell is a text in a table.
type Cell struct {
	Text  string
	Style Style
}

// A Row is a line of a table, with notes below it.
type Row struct {
	Cells []Cell
	Notes []Cell
}

// noteIndent precedes notes.
const noteIndent = "    "

// Table prints rows below a header. It leaves out columns that are empty in all rows. Notes are
// wrapped at the width of the terminal, and never clipped.
func (p *Printer) Table(header []string, rows []Row) {
	for _, line := range p.Lines(header, rows) {
		fmt.Fprintln(p.W, line)
	}
}

// Lines returns the lines of a table. It has none without rows.
func (p *Printer) Lines(header []string, rows []Row) []string {
	if len(rows) == 0 {
		return nil
	}
	widths := make([]int, len(header))
	for _, r := range rows {
		for i, c := range r.Cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(Escape(c.Text)))
		}
	}
	top := Row{}
	for i, h := range header {
		top.Cells = append(top.Cells, Cell{h, Header})
		if widths[i] > 0 {
			widths[i] = max(widths[i], utf8.RuneCountInString(h))
		}
	}
	lines := []string{p.row(top, widths)}
	for _, r := range rows {
		lines = append(lines, p.row(r, widths))
		for _, n := range r.Notes {
			for _, l := range Wrap(Escape(n.Text), p.Width-len(noteIndent)) {
				lines = append(lines, noteIndent+p.Paint(n.Style, l))
			}
		}
	}
	return lines
}

func (p *Printer) row(r Row, widths []int) string {
	var b strings.Builder
	gap := 0
	for i, c := range r.Cells {
		if widths[i] == 0 {
			continue
		}
		if c.Text == "" {
			gap += widths[i] + 2
			continue
		}
		b.WriteString(strings.Repeat(" ", gap))
		b.WriteString(p.Paint(c.Style, c.Text))
		gap = 2 + widths[i] - utf8.RuneCountInString(Escape(c.Text))
	}
	return b.String()
}

// Wrap breaks text at spaces, so that no line is longer than the width if a space allows that. A
// width below 20 does not wrap.
func Wrap(text string, width int) []string {
	if width < 20 || utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
