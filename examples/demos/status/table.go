package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// A row is a fact that all sources must report in the same number.
type row struct {
	title   string
	want    int
	sources []source
}

// errDisagree is the error of sources that report different numbers.
var errDisagree = errors.New("the sources do not agree")

// patience is the longest time that sources may take to agree. pause is the time between two looks.
const (
	patience = 15 * time.Second
	pause    = 20 * time.Millisecond
)

// agree looks until all sources of all rows report the expected numbers, and prints them. It calls traffic, if that is
// not nil, before each look.
func (s *stage) agree(ctx context.Context, traffic func(), rows ...row) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if traffic != nil {
			traffic()
		}
		v, err := s.look(ctx)
		if err != nil {
			return err
		}
		disagree := check(&v, rows)
		if disagree == nil {
			s.print(&v, rows)
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return disagree
		}
	}
}

// check returns an error that has each number of the first row whose sources do not agree.
func check(v *view, rows []row) error {
	for _, r := range rows {
		found := make([]string, 0, len(r.sources))
		ok := true
		for _, src := range r.sources {
			f := src.find(v)
			ok = ok && f.count == r.want
			found = append(found, fmt.Sprintf("%s says %d", src.name, f.count))
		}
		if !ok {
			return fmt.Errorf("%s: %w: %s; want %d", r.title, errDisagree, strings.Join(found, ", "), r.want)
		}
	}
	return nil
}

// print prints the rows, each with the evidence of its sources.
func (s *stage) print(v *view, rows []row) {
	for _, r := range rows {
		s.Seen("%s: %d", r.title, r.want)
		for _, src := range r.sources {
			if f := src.find(v); f.text != "" {
				s.Line("    %-7s %s", src.name, clip(f.text))
			}
		}
	}
}

// clip shortens a text to a line of the output.
func clip(text string) string {
	const width = 200
	if characters := []rune(text); len(characters) > width {
		return string(characters[:width]) + "…"
	}
	return text
}
