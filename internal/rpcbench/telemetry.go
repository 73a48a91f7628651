package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"text/tabwriter"

	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/grpc"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	"google.golang.org/grpc/stats/opentelemetry"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/internal/scrape"
)

// The channels of -telemetry. The plugin is grpc-go's OpenTelemetry plugin with metrics, labels and spans. The
// providers are those of an environment, with a logger.
const (
	theirsPlugin  = theirsName + ", plugin"
	oursProviders = oursName + ", providers"
	oursPlugin    = oursName + ", providers, plugin"
)

// providersBound is the bound of the allocations that the providers add to a call without retries: none. The clients
// allocate in the background.
const providersBound = 0.2

// plugin returns grpc-go's plugin.
func plugin() grpc.DialOption {
	return opentelemetry.DialOption(opentelemetry.Options{
		MetricsOptions: opentelemetry.MetricsOptions{
			MeterProvider: scrape.NewMeter(), OptionalLabels: []string{"grpc.lb.locality", "grpc.lb.backend_service"},
		},
		TraceOptions: experimental.TraceOptions{TracerProvider: scrape.NewTracer(), TextMapPropagator: propagation.TraceContext{}},
	})
}

// providers returns the options of an environment with everything on.
func providers() []xdsforge.Option {
	logger := slog.New(slog.NewTextHandler(discard{}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return []xdsforge.Option{xdsforge.WithMeterProvider(scrape.NewMeter()), xdsforge.WithTracerProvider(scrape.NewTracer()), xdsforge.WithLogger(logger)}
}

// discard drops lines after they are formatted.
type discard struct{}

// Write implements [io.Writer].
func (discard) Write(p []byte) (int, error) { return len(p), nil }

// dialTelemetry makes the channels with everything off and on.
func dialTelemetry(at Addresses, target string) (all []*subject, err error) {
	add := func(name string, cc *grpc.ClientConn, failed error) {
		all = append(all, &subject{name, cc})
		if failed != nil {
			err = fmt.Errorf("%s: %w", name, failed)
		}
	}
	theirs, failed := dialTheirs(at, target)
	add(theirsName, theirs, failed)
	theirs, failed = dialTheirs(at, target, plugin())
	add(theirsPlugin, theirs, failed)
	ours, failed := dialOurs(at, target, nil)
	add(oursName, ours, failed)
	ours, failed = dialOurs(at, target, providers())
	add(oursProviders, ours, failed)
	ours, failed = dialOurs(at, target, providers(), plugin())
	add(oursPlugin, ours, failed)
	return all, err
}

// telemetry prints the cost of metrics, traces and logs.
func telemetry(ctx context.Context, pairs, calls int) error {
	s, err := startServer(ctx)
	if err != nil {
		return err
	}
	defer s.Stop()
	subjects, err := dialTelemetry(s.Addresses, "xds:///svc")
	if err != nil {
		return err
	}
	turns, err := alternate(ctx, subjects, kind{"unary", unary}, pairs, calls)
	if err != nil {
		return err
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "channel\tcalls/s\tµs of CPU\tallocations\tbytes\t\n")
	for _, s := range subjects {
		t := turns[s.name]
		fmt.Fprintf(out, "%s\t%.0f\t%.1f\t%.1f\t%.0f\t\n", s.name, 1/medianOf(t, wall), 1e6*medianOf(t, cpu), medianOf(t, allocs), medianOf(t, bytes))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return judgeTelemetry(turns)
}

// The figures of a turn.
func wall(t turn) float64   { return t.wall }
func cpu(t turn) float64    { return t.cpu }
func allocs(t turn) float64 { return t.allocs }
func bytes(t turn) float64  { return t.bytes }

// judgeTelemetry prints the cost that all telemetry adds to a call, beside the cost of the plugin with grpc-go's xDS. It
// returns the first missed bound. Other load on the machine disturbs times, so only allocations have bounds.
func judgeTelemetry(turns map[string][]turn) error {
	added := func(with, without string, figure func(turn) float64) float64 {
		all := make([]float64, 0, len(turns[with]))
		for i := range turns[with] {
			all = append(all, figure(turns[with][i])-figure(turns[without][i]))
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	beside := func(figure func(turn) float64) (ours, theirs float64) {
		return added(oursPlugin, oursName, figure), added(theirsPlugin, theirsName, figure)
	}
	for _, f := range []struct {
		name   string
		scale  float64
		figure func(turn) float64
	}{{"µs of latency", 1e6, wall}, {"µs of CPU", 1e6, cpu}, {"allocations", 1, allocs}} {
		ours, theirs := beside(f.figure)
		fmt.Printf("everything adds %.1f %s; the plugin adds %.1f to grpc-go's xDS: ratio %.3f\n", f.scale*ours, f.name, f.scale*theirs, ours/theirs)
	}
	ours, theirs := beside(allocs)
	return errors.Join(
		judge("allocations that everything adds, beside those of the plugin", ours/theirs, "", 1),
		judge("allocations that the providers of an environment add", added(oursProviders, oursName, allocs), "", providersBound),
	)
}
