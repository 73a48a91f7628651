package main

import (
	"cmp"
	"context"
	"flag"
	"io"
	"os"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/internal/hostile/beat"
	"github.com/xdsforge/xdsforge/internal/hostile/table"
	"github.com/xdsforge/xdsforge/internal/process"
)

func main() {
	only := flag.String("run", "", "run only the attacks whose name contains this")
	victimOf := flag.String("victim", "", "be the client: addresses of the hostile and the second control plane (for the command itself)")
	delta := flag.Bool("delta", false, "with -victim: use the delta protocol")
	flag.Parse()
	process.Main("hostile", func(ctx context.Context) error {
		if hostile, second, ok := strings.Cut(*victimOf, ","); ok {
			return serveVictim(hostile, second, *delta)
		}
		return run(ctx, *only, os.Stdout)
	})
}

// run runs the attacks whose name contains a text.
func run(ctx context.Context, only string, out io.Writer) error {
	var chosen []attack
	longest := len("attack")
	for _, a := range allAttacks() {
		if strings.Contains(a.name, only) {
			chosen, longest = append(chosen, a.withDefaults()), max(longest, len(a.name))
		}
	}
	rows := table.New(out, longest, "attack", "wire MiB", "peak MiB", "bound", "rss", "kept", "bound", "cpu", "bound", "delay", "bound")
	for _, a := range chosen {
		r, err := a.stage(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		why, verdict := a.missed(r), cmp.Or(r.verdict, "accepted")
		if err != nil {
			why, verdict = []string{"the attack"}, err.Error()
		}
		rows.Add(why, verdict, a.name, table.MiB(r.wire), table.MiB(r.Peak), table.MiB(a.peak), table.MiB(r.RSS), table.MiB(r.Kept), table.MiB(a.kept),
			r.CPU.Round(time.Millisecond), a.cpu, r.Delay.Round(time.Millisecond), a.delay)
	}
	return rows.Close()
}

// A result has the cost and the verdict of an attack.
type result struct {
	Reading
	wire    int64
	verdict string
}

// missed returns the bounds that the result exceeds.
func (a attack) missed(r result) (why []string) {
	over := func(bound string, is bool) {
		if is {
			why = append(why, bound)
		}
	}
	over("peak", r.Peak > a.peak)
	over("kept", r.Kept > a.kept)
	over("cpu", r.CPU > a.cpu)
	over("delay", r.Delay > a.delay)
	over("second authority", r.Updates == 0 && r.CPU > beat.Every)
	over("verdict", (a.rejected == "") != (r.verdict == "") || !strings.Contains(r.verdict, a.rejected))
	return why
}

// stage runs one attack in processes of its own.
func (a attack) stage(ctx context.Context) (r result, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	s, err := startScene(a.delta, a.compress) //nolint:contextcheck // ends with Stop
	if err != nil {
		return r, err
	}
	defer s.server.Stop()
	second, err := beat.Start()
	if err != nil {
		return r, err
	}
	defer second.Stop()
	args := []string{"-victim", s.server.Addr() + "," + second.Addr()}
	if a.delta {
		args = append(args, "-delta")
	}
	if s.child, err = process.Start(ctx, args...); err != nil {
		return r, err
	}
	defer s.child.Stop()
	if r.Reading, err = a.play(ctx, s); err == nil {
		r.wire, r.verdict = s.wire, s.verdict
	}
	return r, err
}

// play is the attack itself.
func (a attack) play(ctx context.Context, s *scene) (r Reading, err error) {
	for _, w := range a.watches {
		if err := s.watch(ctx, w); err != nil {
			return r, err
		}
	}
	if err := s.child.Call("Start", nil, nil); err != nil {
		return r, err
	}
	if err := a.run(ctx, s); err != nil {
		return r, err
	}
	if err := s.child.Call("End", nil, &r); err != nil {
		return r, err
	}
	after := a.after
	if after == nil {
		after = func(ctx context.Context, s *scene) error { return s.unwatch(ctx) }
	}
	if err := after(ctx, s); err != nil {
		return r, err
	}
	err = s.child.Call("Kept", nil, &r.Kept)
	return r, err
}
