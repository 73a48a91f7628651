package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

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
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "attack\twire MiB\tpeak MiB\tbound\trss\tkept\tbound\tcpu\tbound\tdelay\tbound\tverdict\t")
	missed := false
	for _, a := range allAttacks() {
		if !strings.Contains(a.name, only) {
			continue
		}
		a = a.withDefaults()
		r, err := a.stage(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var why []string
		if err != nil {
			why = []string{err.Error()}
		} else {
			why = a.missed(r)
		}
		missed = missed || len(why) > 0
		fmt.Fprintf(table, "%s\t%.1f\t%.0f\t%.0f\t%.0f\t%.1f\t%.0f\t%v\t%v\t%v\t%v\t%s\t%s\n", a.name,
			mib(r.wire), mib(r.Peak), mib(a.peak), mib(r.RSS), mib(r.Kept), mib(a.kept),
			r.CPU.Round(time.Millisecond), a.cpu, r.Delay.Round(time.Millisecond), a.delay, short(r.verdict), missing(why))
		_ = table.Flush()
	}
	if missed {
		return process.ErrMissed
	}
	return nil
}

func mib(n int64) float64 { return float64(n) / (1 << 20) }

// short is a verdict that fits into a line.
func short(verdict string) string {
	const most = 100
	switch {
	case verdict == "":
		return "accepted"
	case len(verdict) > most:
		return "rejected: " + verdict[:most] + "…"
	}
	return "rejected: " + verdict
}

func missing(why []string) string {
	if len(why) == 0 {
		return "ok"
	}
	return "MISSED: " + strings.Join(why, "; ")
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
	over("second authority", r.Updates == 0 && r.CPU > beatEvery)
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
	second, err := startSecond() //nolint:contextcheck // ends with Stop
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
