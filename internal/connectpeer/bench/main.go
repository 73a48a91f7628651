// Command bench measures requests of an http.Client with a Transport of package httpxds, beside one with an
// http.Transport. Both send to the same server. Server and control plane run in another process.
//
//	go run ./bench
//	go run ./bench -rows 'h2c' -pairs 30
//
// The two clients take turns in one run. A figure is the median of the ratios of the turns, because other load on the
// machine affects both. The control plane configures a time limit of 15 s, which is also Envoy's default. The plain client
// then has a context.WithTimeout. Its exit code is 1 if a bound is not kept.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

func main() {
	serving := flag.String("serve", "", "be the server, with its files in this folder (used by the program itself)")
	pairs := flag.Int("pairs", 31, "turns of each client")
	only := flag.String("rows", "", "measure only rows whose names match this regular expression")
	flag.Parse()
	process.Main("bench", func(ctx context.Context) error {
		if *serving != "" {
			return serve(ctx, *serving)
		}
		matching, err := regexp.Compile(*only)
		if err != nil {
			return err
		}
		return measure(ctx, matching, *pairs)
	})
}

// The bounds of ours / plain.
const (
	cpuBound     = 1.05
	latencyBound = 1.05
	allocsBound  = 1.0
)

// measure prints the table.
func measure(ctx context.Context, matching *regexp.Regexp, pairs int) error {
	dir, err := os.MkdirTemp("", "httpbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w, err := openWorld(ctx, dir)
	if err != nil {
		return err
	}
	defer w.close()
	fmt.Printf("%-38s %9s %9s %6s %6s %8s %8s\n", "", "µs of CPU", "p50 µs", "CPU", "p50", "allocs", "plain's")
	missed := 0
	for _, r := range rows() {
		if !matching.MatchString(r.name) {
			continue
		}
		result, err := w.run(ctx, r, pairs)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		verdict := "ok"
		if !result.kept() {
			verdict = "MISSED"
			missed++
		}
		fmt.Printf("%-38s %9.1f %9.1f %6.3f %6.3f %8.1f %8.1f %s\n", r.name, result.cpu*1e6, result.latency*1e6,
			result.cpuRatio, result.latencyRatio, result.allocs, result.plainAllocs, verdict)
	}
	fmt.Printf("bounds: CPU %g, p50 %g, allocations %g\n", cpuBound, latencyBound, allocsBound)
	if missed > 0 {
		return fmt.Errorf("%d rows: %w", missed, process.ErrMissed)
	}
	return nil
}

// A row is one kind of requests.
type row struct {
	name     string
	protocol protocol
	target   string // of the control plane
	parallel int
	size     int // of the bodies of request and response
	requests int // in a turn
	connect  bool
	limit    time.Duration // the time limit of the route; 0: none
}

// rows returns the rows of the table.
func rows() []row {
	const limit = 15 * time.Second
	var all []row
	add := func(p protocol, limited time.Duration, connect bool, parallel, size, requests int) {
		r := row{protocol: p, target: "plain", parallel: parallel, size: size, requests: requests, connect: connect, limit: limited}
		if p.tls {
			r.target = "tls"
		}
		r.name = p.name
		if connect {
			r.name = "Connect " + p.name
		}
		if limited == 0 {
			r.target = "unlimited"
			r.name += ", no time limit"
		}
		if size > 1<<10 {
			r.name += ", 1 MiB"
		}
		if parallel > 1 {
			r.name += fmt.Sprintf(", %d at a time", parallel)
		}
		all = append(all, r)
	}
	for _, p := range []protocol{http1, h2c, tls1, tls2} {
		add(p, limit, false, 1, 16, 1000)
		add(p, limit, false, 64, 16, 2000)
		add(p, limit, false, 1, 1<<20, 40)
		add(p, limit, false, 64, 1<<20, 128)
	}
	for _, p := range []protocol{http1, h2c} {
		add(p, 0, false, 1, 16, 1000)
		add(p, limit, true, 1, 16, 700)
		add(p, limit, true, 64, 16, 1500)
	}
	return all
}
