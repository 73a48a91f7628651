// Command servebench compares an ADS server on the core of this module with the linear cache of
// go-control-plane. Each server is a process of its own. The clients are in this process. The last rows
// compare a control plane on go-control-plane that has a relay in front of it with one that has not.
//
// It prints processor time of the server, the time until the last client has the change, and
// memory, with the ratio of both and its bound. It fails if a bound is missed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

// A Row is one measurement and its bound.
type Row struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Ours  float64 `json:"ours"`
	Peer  float64 `json:"peer"`
	Ratio float64 `json:"ratio"`
	Bound float64 `json:"bound"`
	OK    bool    `json:"ok"`
}

func row(name, unit string, ours, peer, bound float64) Row {
	ratio := ours / peer
	return Row{name, unit, ours, peer, ratio, bound, ratio <= bound}
}

// limit returns a row whose bound is that of our value.
func limit(name, unit string, ours, peer, bound float64) Row {
	return Row{name, unit, ours, peer, ours / peer, bound, ours <= bound}
}

func main() {
	serve := flag.String("serve", "", "be a server: ours, served, peer or relay (for the command itself)")
	upstream := flag.String("upstream", "", "address of the control plane of a relay (for the command itself)")
	relay := flag.Bool("relay", false, "measure only the relay")
	clients := flag.Int("clients", 1000, "number of clients")
	rounds := flag.Int("rounds", 20, "changes that are measured with each server")
	out := flag.String("json", "", "write the figures to this file too")
	flag.Parse()
	process.Main("servebench", func(ctx context.Context) error {
		if *serve != "" {
			return servePlane(ctx, *serve, *upstream)
		}
		rows, err := relayed(ctx, *clients, *rounds)
		if err != nil || *relay {
			return errors.Join(err, report(rows, *out))
		}
		direct, err := measure(ctx, *clients, *rounds)
		if err != nil {
			return err
		}
		return report(append(direct, rows...), *out)
	})
}

// report prints the rows.
func report(rows []Row, out string) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "row\tunit\tours\tgo-control-plane\tratio\tbound\t")
	missed := false
	for _, r := range rows {
		mark := ""
		if !r.OK {
			missed, mark = true, "missed"
		}
		fmt.Fprintf(w, "%s\t%s\t%.1f\t%.1f\t%.2f\t%.2f\t%s\n", r.Name, r.Unit, r.Ours, r.Peer, r.Ratio, r.Bound, mark)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if out != "" {
		data, err := json.MarshalIndent(rows, "", "  ")
		if err == nil {
			err = os.WriteFile(out, append(data, '\n'), 0o644) //nolint:gosec // figures for everybody
		}
		if err != nil {
			return err
		}
	}
	if missed {
		return process.ErrMissed
	}
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
