package client_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/internal/controlplane"
	"github.com/xdsforge/xdsforge/internal/netproxy"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// One suite runs over both protocols and all layouts of control planes: real ones,
// with a bad network in between.

// A layout is the number of servers, and the servers of each authority.
type e2eLayout struct {
	name        string
	authorities map[string][]int // servers by their number, in order; "" is for old-style names
}

var (
	e2eLayouts = []e2eLayout{
		{"one server", map[string][]int{"": {0}}},
		{"federation", map[string][]int{"": {0}, "east.example": {0}, "west.example": {1}}},
		{"fallback", map[string][]int{"": {0, 1}}},
	}
	e2eProtocols = []struct {
		name     string
		features []any
	}{
		{"sotw", nil},
		{"delta", []any{feature.TransportDelta}},
		{"auto", []any{feature.TransportAuto}},
	}
)

func TestEndToEnd(t *testing.T) {
	for _, protocol := range e2eProtocols {
		for _, layout := range e2eLayouts {
			for name, scenario := range e2eScenarios {
				t.Run(protocol.name+"/"+layout.name+"/"+name, func(t *testing.T) {
					t.Parallel()
					scenario(newE2E(t, layout, protocol.features))
				})
			}
		}
	}
}

// An e2e is a client of several control planes, each behind a proxy.
type e2e struct {
	t       *testing.T
	ctx     context.Context //nolint:containedctx // the test's
	layout  e2eLayout
	servers []*controlplane.Server
	proxies []*netproxy.Proxy
	client  *client.Client
	delta   bool
}

func newE2E(t *testing.T, layout e2eLayout, features []any) *e2e {
	t.Helper()
	e := &e2e{t: t, ctx: testContext(t), layout: layout, delta: features != nil}
	specs := make([]bootstrap.ServerSpec, 2)
	for i := range specs {
		s := startServer(t)
		p, err := netproxy.Start(s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		e.servers, e.proxies = append(e.servers, s), append(e.proxies, p)
		specs[i] = server(p.Addr(), features...)
	}
	spec := bootstrap.Spec{Authorities: make(map[string]bootstrap.AuthoritySpec)}
	for name, numbers := range layout.authorities {
		var own []bootstrap.ServerSpec
		for _, n := range numbers {
			own = append(own, specs[n])
		}
		if name == "" {
			spec.Servers = own
		} else {
			spec.Authorities[name] = bootstrap.AuthoritySpec{Servers: own}
		}
	}
	// Names that have nothing to do with each other must not wait for each other.
	steady := withBackoff(ads.Backoff{Base: 20 * time.Millisecond, Factor: 1.5, Max: 100 * time.Millisecond})
	e.client = newClient(t, config(t, spec), steady)
	return e
}

// A spot is a cluster and the first server of its authority.
type spot struct {
	name   string
	server int
}

// spots are clusters of every authority, with an id.
func (e *e2e) spots(id string) (spots []spot) {
	for authority, numbers := range e.layout.authorities {
		name := id
		if authority != "" {
			name = xdstpName(authority, clusterName, id)
		}
		spots = append(spots, spot{name, numbers[0]})
	}
	slices.SortFunc(spots, func(a, b spot) int { return len(a.name) - len(b.name) })
	return spots
}

// set gives the first server of each spot a cluster with a tag.
func (e *e2e) set(spots []spot, tag string) {
	e.t.Helper()
	byServer := make([]map[string]proto.Message, len(e.servers))
	for _, s := range spots {
		if byServer[s.server] == nil {
			byServer[s.server] = make(map[string]proto.Message)
		}
		byServer[s.server][s.name] = cluster(s.name, tag)
	}
	for i, all := range byServer {
		if all == nil {
			continue
		}
		if err := e.servers[i].Update(all); err != nil {
			e.t.Fatal(err)
		}
	}
}

func (e *e2e) follow(spots []spot) (fs []*follower) {
	e.t.Helper()
	for _, s := range spots {
		fs = append(fs, follow(e.ctx, e.t, e.client, clusters, s.name))
	}
	return fs
}

// values waits until every follower has a tag.
func (e *e2e) values(fs []*follower, tag string) {
	e.t.Helper()
	for _, f := range fs {
		f.value(tag)
	}
}

// started has clusters "a" of every authority, with followers that have the tag "1".
func (e *e2e) started() (spots []spot, fs []*follower) {
	e.t.Helper()
	spots = e.spots("a")
	e.set(spots, "1")
	fs = e.follow(spots)
	e.values(fs, "1")
	return spots, fs
}

func (e *e2e) eachProxy(f func(*netproxy.Proxy)) {
	for _, p := range e.proxies {
		f(p)
	}
}

// fallsBack reports whether the authority has a second server.
func (e *e2e) fallsBack() bool { return len(e.layout.authorities[""]) > 1 }
