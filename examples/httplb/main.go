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
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/fakelrs"
	"github.com/xdsforge/xdsforge/internal/story"
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

// A phase is a configuration with a description of its change.
type phase struct {
	title    string
	services []service
}

// phases returns the configurations in order.
func phases() []phase {
	near := place{zone: "near", weight: 3, hosts: []host{{"near-1", 1, healthy}, {"near-2", 3, healthy}, {"near-3", 9, unhealthy}}}
	far := place{zone: "far", weight: 1, hosts: []host{{"far-1", 1, healthy}, {"far-2", 1, healthy}}}
	spare := place{zone: "spare", priority: 1, weight: 1, hosts: []host{{"spare-1", 1, healthy}}}
	next := []place{{zone: "near", weight: 1, hosts: []host{{"next-1", 1, healthy}, {"next-2", 1, healthy}}}}
	out := []phase{{
		"three quarters of the requests go near, by the servers' weights; the next release gets a fifth; a tenth of the current one's is dropped",
		[]service{{"current", 80, 10, "throttle", []place{near, far, spare}}, {"next", 20, 0, "", next}},
	}}

	near.hosts = []host{{"near-1", 1, healthy}, {"near-2", 3, draining}, {"near-3", 9, healthy}}
	far.weight = 3
	out = append(out, phase{
		"near-2 drains, near-3 has recovered, both localities weigh the same, nothing is dropped, the releases share",
		[]service{{"current", 50, 0, "", []place{near, far, spare}}, {"next", 50, 0, "", next}},
	})

	near.hosts = []host{{"near-1", 1, unhealthy}}
	far.hosts = []host{{"far-1", 1, unhealthy}}
	return append(out, phase{
		"near and far are down: the spare takes over; the next release is taken back",
		[]service{{"current", 100, 25, "shed", []place{near, far, spare}}},
	})
}

// A demo has the state of the phases.
type demo struct {
	out       io.Writer
	servers   map[string]*server
	control   *controlplane.Server
	sink      *fakelrs.Server
	transport *Transport
	http      *http.Client
	requests  int
	sent      map[string]uint64 // by the server that answered, over all phases
}

func run(ctx context.Context, out io.Writer, requests int) (err error) {
	d := &demo{
		out: out, requests: requests, sent: make(map[string]uint64), sink: fakelrs.New(interval), servers: make(map[string]*server),
	}
	defer func() {
		for _, s := range d.servers {
			s.http.Close()
		}
	}()
	for _, name := range []string{"near-1", "near-2", "near-3", "far-1", "far-2", "spare-1", "next-1", "next-2"} {
		d.servers[name] = startServer(name)
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
	d.http = &http.Client{Transport: d.transport}

	for i, p := range phases() {
		fmt.Fprintf(out, "\n%d. %s\n", i+1, p.title)
		if err := d.play(ctx, p); err != nil {
			return err
		}
	}
	return d.checkLoad(ctx)
}

// play publishes a configuration, waits until the transport uses it, and measures.
func (d *demo) play(ctx context.Context, p phase) error {
	addresses, before := make(map[string]netip.AddrPort), make(map[string]uint64)
	for name, s := range d.servers {
		addresses[name] = netip.MustParseAddrPort(s.http.Listener.Addr().String())
		before[name] = s.answered.Load()
	}
	published, err := resources(p.services, addresses)
	if err != nil {
		return err
	}
	if err := d.control.Update(published); err != nil {
		return err
	}
	if err := d.transport.Wait(ctx, func(s *tree.Snapshot) bool { return has(s, published) }); err != nil {
		return fmt.Errorf("the configuration did not arrive, %w; rejected were %q", err, d.control.Rejections())
	}
	got, err := send(ctx, d.http, d.requests)
	if err != nil {
		return err
	}
	for name, s := range d.servers {
		if n := s.answered.Load() - before[name]; n != got[name] {
			return fmt.Errorf("%s answered %d requests, of which %d answers arrived", name, n, got[name])
		}
	}
	for name, n := range got {
		d.sent[name] += n
	}
	return compare(d.out, shares(p.services), got, d.requests)
}

// has reports whether a snapshot consists of the published resources.
func has(s *tree.Snapshot, published map[string]proto.Message) bool {
	if s == nil {
		return false
	}
	n := 0
	for ref, state := range s.All() {
		want, ok := published[ref.Name.String()]
		if !ok || state.Update == nil || !same(state.Update, want) {
			return false
		}
		n++
	}
	return n == len(published)
}

func same(u resource.Update, want proto.Message) bool {
	got := want.ProtoReflect().New().Interface()
	return proto.Unmarshal(u.Raw(), got) == nil && proto.Equal(got, want)
}

// A server is an HTTP server on loopback.
type server struct {
	http     *httptest.Server
	answered atomic.Uint64
}

// startServer starts a server that answers with its name and with metrics.
func startServer(name string) *server {
	s := new(server)
	s.http = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.answered.Add(1)
		w.Header().Set("Endpoint-Load-Metrics", `JSON {"cpu_utilization": 0.5, "named_metrics": {"answers": 1, "secret": 7}}`)
		_, _ = fmt.Fprintln(w, name) // the client may have disconnected
	}))
	return s
}

// checkLoad waits for the last load report and compares the reports with the actual load.
func (d *demo) checkLoad(ctx context.Context) error {
	var want fakelrs.Totals
	for name, n := range d.sent {
		if _, isServer := d.servers[name]; !isServer {
			want.Dropped += n
			continue
		}
		want.Issued += n
		want.Succeeded += n
	}
	fmt.Fprintf(d.out, "\n%d. the load that the control plane was told of\n", len(phases())+1)
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
