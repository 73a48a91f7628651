// Command httplb is an HTTP client without gRPC that finds its servers through xDS and
// reports load. One process has a control plane with load reporting, eight HTTP servers on
// loopback, and an [http.Client] whose [Transport] picks a server.
//
//	go run ./examples/httplb
//
// It prints the measured and the configured distribution for each of three
// configurations. Its exit code is 0 only if they agree within five standard deviations
// and if the reported load equals the load of the servers exactly. A program of your own
// can copy transport.go and table.go.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/examples/demos/story"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/fakelrs"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

const (
	// timeout is the limit for the whole run.
	timeout = time.Minute
	// requests is the number of requests for each configuration.
	requests = 10_000
	// interval is the time between load reports.
	interval = time.Second
)

func main() {
	story.Main("httplb", timeout, func(ctx context.Context, out io.Writer) error { return run(ctx, out, requests) })
}

// A demo has the state of the phases.
type demo struct {
	out       io.Writer
	addresses map[string]string // of the servers, by name
	answered  atomic.Uint64     // requests, by all servers
	dropped   uint64
	control   *controlplane.Server
	sink      *fakelrs.Server
	transport *Transport
	requests  int // in each phase
}

func run(ctx context.Context, out io.Writer, requests int) (err error) {
	d := &demo{out: out, requests: requests, sink: fakelrs.New(interval), addresses: make(map[string]string)}
	for _, name := range []string{"near-1", "near-2", "near-3", "far-1", "far-2", "spare-1", "next-1", "next-2"} {
		s := httptest.NewServer(d.server(name))
		defer s.Close() //nolint:gocritic // at the end of the run
		d.addresses[name] = s.Listener.Addr().String()
	}
	if d.control, err = controlplane.Start(controlplane.Standard(), d.sink.Option()); err != nil { //nolint:contextcheck // it ends with Stop
		return err
	}
	defer d.control.Stop()
	config, err := bootstrap.Parse(fmt.Appendf(nil,
		`{"node": {"id": "httplb"}, "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, d.control.Addr()))
	if err != nil {
		return err
	}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(standard.Register))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	base := &http.Transport{MaxIdleConnsPerHost: 16}
	defer base.CloseIdleConnections()
	d.transport, err = NewTransport(c, config, target, base) //nolint:contextcheck // it ends with Close
	if err != nil {
		return err
	}
	defer d.transport.Close()
	for i, p := range phases() {
		fmt.Fprintf(out, "\n%d. %s\n", i+1, p.title)
		if err := d.play(ctx, p); err != nil {
			return err
		}
	}
	return d.checkLoad(ctx)
}

// server returns a server that answers with its name and with metrics.
func (d *demo) server(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		d.answered.Add(1)
		w.Header().Set("Endpoint-Load-Metrics", `JSON {"cpu_utilization": 0.5, "named_metrics": {"answers": 1, "secret": 7}}`)
		_, _ = io.WriteString(w, name) // the client may have disconnected
	}
}

// play publishes a configuration, waits until the transport uses it, and measures.
func (d *demo) play(ctx context.Context, p phase) error {
	published, err := p.resources(d.addresses)
	if err != nil {
		return err
	}
	if err := d.control.Update(published); err != nil {
		return err
	}
	if err := d.transport.Wait(ctx, func(s *tree.Snapshot) bool { return has(s, published) }); err != nil {
		return fmt.Errorf("the configuration did not arrive, %w; rejected were %q", err, d.control.Rejections())
	}
	got, err := send(ctx, &http.Client{Transport: d.transport}, d.requests)
	if err != nil {
		return err
	}
	for name, n := range got {
		if strings.HasPrefix(name, dropsOf("")) {
			d.dropped += n
		}
	}
	return compare(d.out, p.shares, got, d.requests)
}

// has reports whether a snapshot consists of the published resources.
func has(s *tree.Snapshot, published map[string]proto.Message) bool {
	if s == nil || s.Len() != len(published) {
		return false
	}
	for ref, state := range s.All() {
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(published[ref.Name.String()])
		if err != nil || state.Update == nil || !bytes.Equal(state.Update.Raw(), want) {
			return false
		}
	}
	return true
}

// checkLoad waits for the last load report and compares the reports with the actual load.
func (d *demo) checkLoad(ctx context.Context) error {
	answered := d.answered.Load()
	want := fakelrs.Totals{Issued: answered, Succeeded: answered, Dropped: d.dropped}
	fmt.Fprintf(d.out, "\n%d. the load reports that the control plane received\n", len(phases())+1)
	err := d.sink.Await(ctx, func(r []fakelrs.Report) bool {
		got := fakelrs.Sum(r)
		return got.Issued+got.Dropped >= want.Issued+want.Dropped && got.Succeeded >= want.Succeeded
	})
	reports := d.sink.Reports()
	got := fakelrs.Sum(reports)
	byZone := make(map[string]uint64)
	var named, cpu float64
	for _, r := range reports {
		for _, c := range r.Message.GetClusterStats() {
			for _, l := range c.GetUpstreamLocalityStats() {
				byZone[c.GetClusterName()+" "+l.GetLocality().GetZone()] += l.GetTotalSuccessfulRequests()
				cpu += l.GetCpuUtilization().GetTotalMetricValue()
				for _, m := range l.GetLoadMetricStats() {
					named += m.GetTotalMetricValue()
				}
			}
		}
	}
	for _, zone := range slices.Sorted(maps.Keys(byZone)) {
		fmt.Fprintf(d.out, "   %-22s %10d requests\n", zone, byZone[zone])
	}
	fmt.Fprintf(d.out, "   %d messages: %d requests succeeded, %d were dropped; answers %.0f, cpu %.1f\n", len(reports), got.Succeeded, got.Dropped, named, cpu)
	switch {
	case err != nil:
		return fmt.Errorf("the load was not reported in time: %w", err)
	case got != want || uint64(named) != want.Succeeded || uint64(2*cpu) != want.Succeeded:
		return fmt.Errorf("reported %+v, answers %v, cpu %v; must be %+v", got, named, cpu, want)
	}
	fmt.Fprintf(d.out, "\nEverything was measured within its tolerance, and reported exactly.\n")
	return nil
}
