package main

import (
	"fmt"
	"io"

	"github.com/fatih/color"
)

// A teller writes the story. There is colour on a terminal only.
type teller struct {
	out     io.Writer
	written int // chapters
}

func (t *teller) title(s string) { fmt.Fprintln(t.out, color.New(color.Bold).Sprint(s)) }

func (t *teller) chapter(title string) {
	t.written++
	fmt.Fprintf(t.out, "\n%s\n", color.New(color.Bold, color.FgCyan).Sprintf("%d. %s", t.written, title))
}

func (t *teller) line(format string, args ...any) {
	fmt.Fprintf(t.out, "   "+format+"\n", args...)
}

// seen tells what was not only said but checked.
func (t *teller) seen(format string, args ...any) {
	fmt.Fprintf(t.out, "   %s %s\n", color.GreenString("✓"), fmt.Sprintf(format, args...))
}

// quote shows a message of the program in full.
func (t *teller) quote(who string, err any) {
	fmt.Fprintf(t.out, "     %s %s\n", who, color.YellowString("%v", err))
}
