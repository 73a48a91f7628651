package xdsctl

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/output"
	"github.com/xdsforge/xdsforge/tools/xdsctl/internal/world"
)

// A screen shows the changes between two states of clients.
type screen struct {
	p     *output.Printer
	lines []string             // on a terminal: the lines that are visible
	last  map[changeKey]string // elsewhere: the resources, without their ages
	err   string
}

type changeKey struct{ where, scope, typ, name string }

func newScreen(p *output.Printer) *screen { return &screen{p: p, last: make(map[changeKey]string)} }

func (s *screen) show(f *statusFlags, list []world.Process, err error, now time.Time) {
	if s.p.Format == output.Table && s.p.Terminal {
		lines := f.lines(s.p, list, now)
		if err != nil {
			lines = append(lines, s.p.Paint(output.Bad, err.Error()))
		}
		s.redraw(lines)
		return
	}
	if err != nil && err.Error() != s.err {
		s.print(now, "!", output.Row{Cells: []output.Cell{{Text: err.Error(), Style: output.Bad}}}, nil)
	}
	s.err = ""
	if err != nil {
		s.err = err.Error()
	}
	s.changes(f, list, now)
}

// redraw writes the lines that changed, at their places.
func (s *screen) redraw(lines []string) {
	if h := s.p.Height; h > 1 && len(lines) > h {
		more := fmt.Sprintf("%d more lines; show fewer by --failed, --type or --scope", len(lines)-h+1)
		lines = append(lines[:h-1:h-1], s.p.Paint(output.Dim, more))
	}
	if s.lines == nil {
		fmt.Fprint(s.p.W, "\x1b[2J")
	}
	for i, l := range lines {
		if i >= len(s.lines) || s.lines[i] != l {
			fmt.Fprintf(s.p.W, "\x1b[%d;1H%s\x1b[K", i+1, l)
		}
	}
	fmt.Fprintf(s.p.W, "\x1b[%d;1H\x1b[J", len(lines)+1)
	s.lines = lines
}

// changes prints the resources that are new, changed or gone.
func (s *screen) changes(f *statusFlags, list []world.Process, now time.Time) {
	current := make(map[changeKey]string)
	for _, c := range list {
		for _, e := range f.shown(c) {
			k := changeKey{e.Where, e.Scope, e.Type, e.Name}
			current[k] = fmt.Sprintf("%s %q %q %s", e.State, e.Version, e.Error, e.Updated)
			old, there := s.last[k]
			if there && old == current[k] {
				continue
			}
			mark := "+"
			if there {
				mark = "~"
			}
			v := viewOf(e, now)
			s.print(now, mark, row(e, false, now), &v)
		}
	}
	for k := range s.last {
		if _, there := current[k]; !there {
			e := world.Entry{Scope: k.scope, Type: k.typ, Name: k.name, Where: k.where}
			v := viewOf(&e, now)
			s.print(now, "-", row(&e, false, now), &v)
		}
	}
	s.last = current
}

// print prints one change: a line for people, or an object on one line.
func (s *screen) print(now time.Time, mark string, r output.Row, v *entryView) {
	if s.p.Format != output.Table {
		text, err := json.Marshal(struct {
			Time   time.Time  `json:"time"`
			Change string     `json:"change"`
			Error  string     `json:"error,omitempty"`
			Entry  *entryView `json:"resource,omitempty"`
		}{now, mark, map[bool]string{true: r.Cells[0].Text}[v == nil], v})
		if err == nil {
			fmt.Fprintf(s.p.W, "%s\n", text)
		}
		return
	}
	parts := []string{now.Format(time.TimeOnly), mark}
	for _, c := range r.Cells {
		if c.Text != "" {
			parts = append(parts, s.p.Paint(c.Style, c.Text))
		}
	}
	fmt.Fprintln(s.p.W, strings.Join(parts, " "))
	for _, n := range r.Notes {
		for _, l := range output.Wrap(output.Escape(n.Text), s.p.Width-4) {
			fmt.Fprintln(s.p.W, "    "+s.p.Paint(n.Style, l))
		}
	}
}
