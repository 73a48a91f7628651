// Package story has the parts that the stories share: the printed chapters, and a control plane.
package story

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/fatih/color"
)

// Main runs an example until it ends or its time is over. It exits with 1 if the example
// fails.
func Main(name string, timeout time.Duration, run func(context.Context, io.Writer) error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	err := run(ctx, os.Stdout)
	cancel()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// A Teller prints the story. It uses colour only on a terminal.
type Teller struct {
	out     io.Writer
	written int // chapters
}

// New returns a Teller that writes to out.
func New(out io.Writer) Teller { return Teller{out: out} }

// Title is the first line, and the last.
func (t *Teller) Title(s string) { fmt.Fprintln(t.out, color.New(color.Bold).Sprint(s)) }

// Chapter begins a numbered part.
func (t *Teller) Chapter(title string) {
	t.written++
	fmt.Fprintf(t.out, "\n%s\n", color.New(color.Bold, color.FgCyan).Sprintf("%d. %s", t.written, title))
}

// Play plays chapters, one after the other.
func (t *Teller) Play(ctx context.Context, chapters ...func(context.Context) error) error {
	for _, chapter := range chapters {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Until waits until a condition holds.
func Until(ctx context.Context, holds func() bool) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// AwaitServing waits for the first mode that a server reports. It returns the error of the mode.
func AwaitServing(ctx context.Context, modes <-chan error) error {
	select {
	case err := <-modes:
		return err
	case <-ctx.Done():
		return fmt.Errorf("the server does not serve: %w", ctx.Err())
	}
}

// OrNone returns an error for a message about an expected error, which may be nil.
func OrNone(err error) error {
	if err == nil {
		return errors.New("no error")
	}
	return err
}

// Line prints a line.
func (t *Teller) Line(format string, args ...any) {
	fmt.Fprintf(t.out, "   "+format+"\n", args...)
}

// Seen prints an event that the example has verified.
func (t *Teller) Seen(format string, args ...any) {
	fmt.Fprintf(t.out, "   %s %s\n", color.GreenString("✓"), fmt.Sprintf(format, args...))
}

// Quote shows a message of the program in full.
func (t *Teller) Quote(who string, err any) {
	fmt.Fprintf(t.out, "     %s %s\n", who, color.YellowString("%v", err))
}
