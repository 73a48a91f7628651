package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

// A Row is one measurement and its bound.
type Row struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Ours   float64 `json:"ours"`
	Peer   float64 `json:"peer"` // the minimal client, or the subject that the row names instead
	Beside string  `json:"beside"`
	Ratio  float64 `json:"ratio"`
	Floor  float64 `json:"floor,omitempty"` // the cost of a client that only receives and acknowledges
	Bound  float64 `json:"bound"`           // of the ratio, or of Ours where Peer is 0; 0: none
	OK     bool    `json:"ok"`
}

// A measurement makes rows.
type measurement struct {
	name string
	run  func(ctx context.Context) ([]Row, error)
}

func main() {
	serve := flag.Bool("serve", false, "be the control plane (for the command itself)")
	rows := flag.String("rows", "", "measure only the rows whose name contains this")
	profile := flag.String("cpuprofile", "", "write a processor profile of the measurements to this file")
	out := flag.String("json", "", "write the figures to this file too")
	markdown := flag.Bool("markdown", false, "print the table of docs/performance.md")
	flag.Parse()
	process.Main("bench", func(ctx context.Context) error {
		if *serve {
			return servePlane(ctx)
		}
		return profiled(*profile, func() error { return measure(ctx, *rows, *out, os.Stdout, *markdown) })
	})
}

// profiled runs f, under the profiler if there is a file for it.
func profiled(file string, f func() error) error {
	if file == "" {
		return f()
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	if err := pprof.StartCPUProfile(out); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return f()
}

func measure(ctx context.Context, which, out string, w io.Writer, markdown bool) error {
	var all []Row
	var missed error
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	header, line := "row\tours\tbeside\t\tratio\tbound\t\tfloor", Row.String
	if markdown {
		header, line = "| row | ours | beside | ratio | bound | floor |\n|---|---|---|---|---|---|", Row.markdown
	}
	fmt.Fprintf(w, "%s, %s, %d processors, %s\n\n", runtime.Version(), runtime.GOARCH, runtime.GOMAXPROCS(0), time.Now().Format(time.DateOnly))
	fmt.Fprintln(table, header)
	for _, m := range measurements() {
		if !strings.Contains(m.name, which) {
			continue
		}
		rows, err := m.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		for _, r := range rows {
			r.judge()
			if !r.OK {
				missed = process.ErrMissed
			}
			all = append(all, r)
			fmt.Fprintln(table, line(r))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if out == "" {
		return missed
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(os.WriteFile(out, append(data, '\n'), 0o600), missed)
}

// tolerance allows for the noise of a measurement: a bound is missed by more than 3 %.
const tolerance = 1.03

// judge fills in the ratio and whether the bound is kept.
func (r *Row) judge() {
	if r.Ratio = r.Ours; r.Peer > 0 {
		r.Ratio = r.Ours / r.Peer
	}
	r.OK = r.Bound == 0 || r.Ratio <= r.Bound*tolerance
}

// String is the row as a line of the table.
func (r Row) String() string {
	bound, verdict := fmt.Sprintf("<= %g", r.Bound), "ok"
	if r.Peer == 0 {
		bound += " " + r.Unit
	}
	switch {
	case r.Bound == 0:
		bound, verdict = "", ""
	case !r.OK:
		verdict = "MISSED"
	}
	if r.Peer == 0 {
		return fmt.Sprintf("%s\t%.4g %s\t\t\t\t%s\t%s", r.Name, r.Ours, r.Unit, bound, verdict)
	}
	line := fmt.Sprintf("%s\t%.4g %s\t%s\t%.4g %s\t%.2f\t%s\t%s", r.Name, r.Ours, r.Unit, r.Beside, r.Peer, r.Unit, r.Ratio, bound, verdict)
	if r.Floor > 0 {
		line += fmt.Sprintf("\t%.4g %s", r.Floor, r.Unit)
	}
	return line
}

// markdown is the row as a line of the table in docs/performance.md. A figure that misses its bound is
// bold.
func (r Row) markdown() string {
	ours, beside, ratio, bound, floor := fmt.Sprintf("%.4g %s", r.Ours, r.Unit), "", "", fmt.Sprintf("%g", r.Bound), ""
	figure := &ours
	if r.Peer > 0 {
		beside, ratio, figure = fmt.Sprintf("%.4g %s %s", r.Peer, r.Unit, r.Beside), fmt.Sprintf("%.2f", r.Ratio), &ratio
	} else {
		bound += " " + r.Unit
	}
	if r.Bound == 0 {
		bound = ""
	}
	if r.Floor > 0 {
		floor = fmt.Sprintf("%.4g %s", r.Floor, r.Unit)
	}
	if !r.OK {
		*figure = "**" + *figure + "**"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |", strings.TrimSpace(r.Name), ours, beside, ratio, bound, floor)
}
