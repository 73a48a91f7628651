package main

import (
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/internal/hostile/table"
	"github.com/xdsforge/xdsforge/internal/process"
)

func main() {
	only := flag.String("run", "", "run only the attacks whose name contains this")
	attacking := flag.Bool("attacker", false, "be the process of an attack (for the command itself)")
	flag.Parse()
	process.Main("hostile-serve", func(ctx context.Context) error {
		if *attacking {
			return serveAttacker()
		}
		return run(ctx, *only, os.Stdout)
	})
}

// run runs the attacks whose name contains a text.
func run(ctx context.Context, only string, out io.Writer) error {
	dir, err := os.MkdirTemp("", "hostile-serve")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is temporary
	program := filepath.Join(dir, "xdsd")
	if err := build(ctx, program); err != nil {
		return err
	}
	var chosen []attack
	longest := len("attack")
	for _, a := range allAttacks() { //nolint:contextcheck // an attack gets its context when it runs
		if strings.Contains(a.name, only) {
			chosen, longest = append(chosen, a), max(longest, len(a.name))
		}
	}
	rows := table.New(out, longest, "attack", "wire MiB", "memory", "bound", "before", "delay", "bound", "lines")
	for _, a := range chosen {
		r, err := a.stage(ctx, program)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		missed := a.missed(r)
		if err != nil {
			missed, r.Verdict = []string{"the attack"}, err.Error()
		}
		rows.Add(missed, r.Verdict, a.name, table.MiB(r.Wire), table.MiB(r.memory), table.MiB(a.memory()), r.before.Round(time.Millisecond),
			r.delay.Round(time.Millisecond), (r.before + moreDelay).Round(time.Millisecond), r.lines)
	}
	return rows.Close()
}
