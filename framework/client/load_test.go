package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/fakelrs"
)

// startLoadServer runs a control plane that also takes load reports, every few
// milliseconds.
func startLoadServer(t *testing.T) (*controlplane.Server, *fakelrs.Server) {
	t.Helper()
	sink := fakelrs.New(20 * time.Millisecond)
	s, err := controlplane.Start([]string{clusterName, endpointName}, sink.Option())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s, sink
}

// often lets servers ask for short intervals.
func often() option { return withLoadIntervals(time.Millisecond, 0) }

// loadOf returns the store of the load that the client reports to a server.
func loadOf(t *testing.T, c *client.Client, server *bootstrap.Server) *load.Store {
	t.Helper()
	s, err := c.LoadStore(server)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// call makes n calls, of which none fails.
func call(s *load.Store, cluster string, n int) {
	c := s.Cluster(cluster, "")
	defer c.Release()
	l := c.Locality(load.LocalityID{Zone: "z"}, load.Propagation{})
	defer l.Release()
	for range n {
		l.CallStarted()
		l.CallFinished(nil, nil)
	}
}

// awaitCalls waits until as many calls were reported.
func awaitCalls(t *testing.T, sink *fakelrs.Server, n uint64) []fakelrs.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := sink.Await(ctx, func(r []fakelrs.Report) bool { return fakelrs.Sum(r).Succeeded >= n }); err != nil {
		t.Fatalf("%d calls were reported; must be %d", fakelrs.Sum(sink.Reports()).Succeeded, n)
	}
	return sink.Reports()
}

func authorityServer(t *testing.T, c *bootstrap.Config, name string) *bootstrap.Server {
	t.Helper()
	a, ok := c.Authority(name)
	if !ok {
		t.Fatalf("no authority %q", name)
	}
	return a.Servers[0]
}

func TestAuthoritiesOfOneServerReportOnOneStreamOfItsConnection(t *testing.T) {
	s, sink := startLoadServer(t)
	b := config(t, bootstrap.Spec{Authorities: map[string]bootstrap.AuthoritySpec{
		"east.example": {Servers: []bootstrap.ServerSpec{server(s.Addr())}},
		"west.example": {Servers: []bootstrap.ServerSpec{server("dns:///" + s.Addr())}}, // the same, to gRPC
	}})
	c := newClient(t, b, often())
	name := xdstpName("east.example", clusterName, "checkout")
	set(t, s, name, cluster(name, "v1"))
	if _, err := get(t.Context(), c, clusters, name); err != nil {
		t.Fatal(err)
	}
	call(loadOf(t, c, authorityServer(t, b, "east.example")), "checkout", 2)
	call(loadOf(t, c, authorityServer(t, b, "west.example")), "checkout", 3)
	reports := awaitCalls(t, sink, 5)
	if opened, _ := sink.Streams(); opened != 1 || s.Connections() != 1 {
		t.Errorf("%d streams of load reports, %d connections; must be 1 and 1", opened, s.Connections())
	}
	for i, r := range reports {
		node := r.Message.GetNode()
		if first := i == 0; first != (node != nil) || first && len(r.Message.GetClusterStats()) > 0 {
			t.Errorf("message %d: %v; the first is to have the node and nothing else, the others no node", i, r.Message)
		}
	}
	if f := reports[0].Message.GetNode().GetClientFeatures(); !slices.Contains(f, lrs.ClientFeature) || reports[0].Message.GetNode().GetId() != "node-1" {
		t.Errorf("the node's features = %q; must have %s", f, lrs.ClientFeature)
	}
	for _, r := range s.Requests() {
		if slices.Contains(r.GetNode().GetClientFeatures(), lrs.ClientFeature) {
			t.Error("the feature of load reporting is in a discovery request")
		}
	}
}

func TestServersThatDifferInCredentialsGetStreamsOfTheirOwn(t *testing.T) {
	s, sink := startLoadServer(t)
	other := server(s.Addr())
	other.ChannelCreds[0].Config = json.RawMessage(`{"as": "another"}`)
	b := config(t, bootstrap.Spec{Authorities: map[string]bootstrap.AuthoritySpec{
		"east.example": {Servers: []bootstrap.ServerSpec{server(s.Addr())}},
		"west.example": {Servers: []bootstrap.ServerSpec{other}},
	}})
	c := newClient(t, b, often())
	call(loadOf(t, c, authorityServer(t, b, "east.example")), "c", 2)
	call(loadOf(t, c, authorityServer(t, b, "west.example")), "c", 3)
	byStream := make(map[int]uint64)
	for _, r := range awaitCalls(t, sink, 5) {
		byStream[r.Stream] += fakelrs.Sum([]fakelrs.Report{r}).Succeeded
	}
	if opened, _ := sink.Streams(); opened != 2 || s.Connections() != 2 || byStream[1] == byStream[2] {
		t.Errorf("%d streams, %d connections, calls by stream %v; must be 2, 2, and the calls of each on its own", opened, s.Connections(), byStream)
	}
}

func TestLoadGoesToServersOfTheBootstrapOnly(t *testing.T) {
	s, sink := startLoadServer(t)
	c := newClient(t, config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server(s.Addr())}}))
	foreign := server(s.Addr(), "trusted_xds_server")
	for name, spec := range map[string]*bootstrap.ServerSpec{
		"none":           nil,
		"another name":   {URI: "evil.example:443", ChannelCreds: server("").ChannelCreds},
		"other features": &foreign,
	} {
		var entry *bootstrap.Server
		if spec != nil {
			var err error
			if entry, err = bootstrap.NewServer(*spec); err != nil {
				t.Fatal(err)
			}
		}
		if store, err := c.LoadStore(entry); store != nil || !errors.Is(err, load.ErrServerNotInBootstrap) {
			t.Errorf("%s: %v, %v; must be ErrServerNotInBootstrap", name, store, err)
		}
	}
	if opened, _ := sink.Streams(); opened != 0 || s.Connections() != 0 {
		t.Errorf("%d streams, %d connections; must be none before there is load", opened, s.Connections())
	}
}

func TestReportsGoOnAfterARestart(t *testing.T) {
	s, sink := startLoadServer(t)
	b := config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server(s.Addr())}})
	c := newClient(t, b, often())
	store := loadOf(t, c, b.Servers()[0])
	defer store.Cluster("held", "").Release() // so that the client continues to report
	call(store, "c", 3)
	awaitCalls(t, sink, 3)
	s.Stop()
	call(store, "c", 4) // of which a report may be on its way to nobody
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	awaitReport(t, sink, func(r fakelrs.Report) bool { return r.Stream == 2 })
	call(store, "c", 5)
	n := len(awaitCalls(t, sink, 8))
	awaitReport(t, sink, func(r fakelrs.Report) bool { // the last report with load
		return r.At.After(sink.Reports()[n-1].At) && r.Stream == 2 && len(r.Message.GetClusterStats()) == 0
	})
	if got := fakelrs.Sum(sink.Reports()); got.Succeeded != 8 && got.Succeeded != 12 || got.Issued != got.Succeeded {
		t.Errorf("reported %+v; must be 12 calls, or 8 if a report was lost", got)
	}
}

func TestClusterListsAreObeyed(t *testing.T) {
	s, sink := startLoadServer(t)
	sink.Instruct(10*time.Millisecond, "a")
	b := config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server(s.Addr())}})
	store := loadOf(t, newClient(t, b, often()), b.Servers()[0])
	used := store.Cluster("b", "").Locality(load.LocalityID{}, load.Propagation{})
	used.CallStarted()
	used.CallFinished(nil, nil)
	call(store, "a", 1)
	for _, r := range awaitCalls(t, sink, 1) {
		for _, stats := range r.Message.GetClusterStats() {
			if stats.GetClusterName() != "a" {
				t.Errorf("cluster %q was reported; only a was asked for", stats.GetClusterName())
			}
		}
	}
	sink.Instruct(10 * time.Millisecond) // all
	awaitCalls(t, sink, 2)
}

func TestStoresOfAClosedClient(t *testing.T) {
	s, sink := startLoadServer(t)
	b := config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server(s.Addr())}})
	c := newClient(t, b, often())
	store := loadOf(t, c, b.Servers()[0])
	held := store.Cluster("c", "")
	awaitReport(t, sink, func(r fakelrs.Report) bool { return r.Message.GetNode() == nil })
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	held.Drop("")
	held.Release()
	if _, err := c.LoadStore(b.Servers()[0]); !errors.Is(err, resource.ErrClosed) {
		t.Errorf("error = %v; must be ErrClosed", err)
	}
}

// awaitReport waits for a message.
func awaitReport(t *testing.T, sink *fakelrs.Server, which func(fakelrs.Report) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := sink.Await(ctx, func(r []fakelrs.Report) bool { return slices.ContainsFunc(r, which) }); err != nil {
		t.Fatal(err)
	}
}
