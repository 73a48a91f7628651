// Command rpcbench measures the cost of a call on three channels to one server: one of
// grpc-go without xDS, one with grpc-go's own xDS, and one of package grpcxds. One control
// plane configures the latter two. Server and control plane run in another process.
//
//	go run ./internal/rpcbench
//	go run ./internal/rpcbench -scale 5
//	go run ./internal/rpcbench -channels 1000
//	go run ./internal/rpcbench -telemetry
//	go run ./internal/rpcbench -filters
//	go run ./internal/rpcbench -check
//
// The channels take turns. The result is the median of the ratios of our turns to
// grpc-go's xDS turns, because other load on the machine affects both.
//
// With -check, its exit code is 1 if a bound is not kept.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/xdsforge/xdsforge/internal/process"
)

func main() {
	serving := flag.Bool("serve", false, "be the server (used by the program itself)")
	pairs := flag.Int("pairs", 20, "how many turns each channel has")
	calls := flag.Int("calls", 2000, "calls in a turn")
	large := flag.Int("scale", 0, "instead, measure the first call to a target of 1,000 clusters, this often")
	several := flag.Int("channels", 0, "instead, measure as many channels, each to a target of its own")
	observed := flag.Bool("telemetry", false, "instead, measure the cost of metrics, traces and logs, beside grpc-go's xDS with its OpenTelemetry plugin")
	filtered := flag.Bool("filters", false, "instead, measure the cost of filters that see messages, beside interceptors that do the same")
	check := flag.Bool("check", false, "fail if a bound is missed")
	kind := flag.String("open", "", "be the process that makes these channels (used by the program itself)")
	one := flag.String("first", "", "be one that makes this first call (used by the program itself)")
	var at Addresses
	flag.StringVar(&at.Backend, "backend", "", "for -first")
	flag.StringVar(&at.Plane, "plane", "", "for -first")
	flag.Parse()
	run := func(ctx context.Context) error { return verdict(*check, measure(ctx, *pairs, *calls)) }
	switch {
	case *serving:
		run = serve
	case *one != "":
		run = func(ctx context.Context) error { return first(ctx, *one, at) }
	case *kind != "":
		run = func(ctx context.Context) error { return verdict(*check, open(ctx, *kind, *several)) }
	case *observed:
		run = func(ctx context.Context) error { return verdict(*check, telemetry(ctx, *pairs, *calls)) }
	case *filtered:
		run = func(ctx context.Context) error { return filters(ctx, *pairs, *calls) }
	case *several > 0:
		run = func(ctx context.Context) error { return verdict(*check, channels(ctx, *several, *check)) }
	case *large > 0:
		run = func(ctx context.Context) error { return scale(ctx, *large) }
	}
	process.Main("rpcbench", run)
}

// verdict returns err, but a missed bound only if the command checks bounds.
func verdict(check bool, err error) error {
	if !check && errors.Is(err, process.ErrMissed) {
		return nil
	}
	return err
}

// tolerance allows for the noise of a measurement: a bound is missed by more than 3 %.
const tolerance = 1.03

// judge prints a figure with its bound, and returns process.ErrMissed if the bound is not kept.
func judge(name string, figure float64, unit string, bound float64) error {
	result, err := "ok", error(nil)
	if figure > bound*tolerance {
		result, err = "MISSED", process.ErrMissed
	}
	fmt.Printf("%s: %.4g%s, bound %g%s: %s\n", name, figure, unit, bound, unit, result)
	return err
}

// streamBound is the bound of the latency of a streaming call, beside grpc-go's xDS.
const streamBound = 1.02

// measure prints the table.
func measure(ctx context.Context, pairs, calls int) error {
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.Stop()
	subjects, err := dial(s.Addresses, "xds:///svc")
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "\tchannel\tcalls/s\tµs of CPU\tallocations\tbytes\t\n")
	var verdicts []string
	var latency float64 // of streams
	for _, kind := range []kind{{"unary", unary}, {"stream", stream}} {
		turns, err := alternate(ctx, subjects, kind, pairs, calls)
		if err != nil {
			return err
		}
		for _, s := range subjects {
			t := turns[s.name]
			fmt.Fprintf(out, "%s\t%s\t%.0f\t%.1f\t%.1f\t%.0f\t\n", kind.name, s.name,
				1/medianOf(t, func(t turn) float64 { return t.wall }), 1e6*medianOf(t, func(t turn) float64 { return t.cpu }),
				medianOf(t, func(t turn) float64 { return t.allocs }), medianOf(t, func(t turn) float64 { return t.bytes }))
		}
		ours, theirs := turns[oursName], turns[theirsName]
		ratio := func(what func(turn) float64) float64 {
			var all []float64
			for i := range ours {
				all = append(all, what(ours[i])/what(theirs[i]))
			}
			slices.Sort(all)
			return all[len(all)/2]
		}
		latency = ratio(func(t turn) float64 { return t.wall })
		verdicts = append(verdicts, fmt.Sprintf("%s: ours / grpc-go's xDS: latency %.3f, CPU %.3f, allocations %.3f, bytes %.3f",
			kind.name, latency, ratio(func(t turn) float64 { return t.cpu }),
			ratio(func(t turn) float64 { return t.allocs }), ratio(func(t turn) float64 { return t.bytes })))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	for _, v := range verdicts {
		fmt.Println(v)
	}
	return judge("latency of a stream beside grpc-go's xDS", latency, "", streamBound)
}

// A turn is the average cost of one call.
type turn struct{ wall, cpu, allocs, bytes float64 }

func medianOf(turns []turn, what func(turn) float64) float64 {
	all := make([]float64, len(turns))
	for i, t := range turns {
		all[i] = what(t)
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// alternate gives every subject its turns, each time in another order.
func alternate(ctx context.Context, subjects []*subject, k kind, pairs, calls int) (map[string][]turn, error) {
	turns := make(map[string][]turn)
	for i := -1; i < pairs; i++ { // the first time warms up
		order := slices.Clone(subjects)
		if i%2 == 0 {
			slices.Reverse(order)
		}
		for _, s := range order {
			t, err := s.take(ctx, k, calls)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			if i >= 0 {
				turns[s.name] = append(turns[s.name], t)
			}
		}
	}
	return turns, nil
}

// deadline bounds a turn.
const deadline = time.Minute
