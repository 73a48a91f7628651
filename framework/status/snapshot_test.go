package status_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/route"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// password is only in the configuration of credentials.
const password = "hunter2"

// foreign is an update of a program, without JSON.
type foreign struct{ Text string }

func (*foreign) Name() xdstp.Name             { return xdstp.Name{} }
func (*foreign) Version() string              { return "3" }
func (*foreign) Raw() []byte                  { return []byte(password) }
func (*foreign) Server() *bootstrap.Server    { return nil }
func (*foreign) Refs() iter.Seq[resource.Ref] { return nil }

// snapshot has entries of every kind.
func snapshot(t *testing.T) status.Snapshot {
	t.Helper()
	server, err := bootstrap.NewServer(bootstrap.ServerSpec{
		URI:          "xds.example:443",
		Features:     []any{feature.TrustedXDSServer},
		ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure", Config: json.RawMessage(`{"token":"` + password + `"}`)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	name := func(s string) xdstp.Name {
		n, err := new(resource.DecodeContext).ParseName(s)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	at := time.Date(2025, 1, 2, 3, 4, 5, 0, time.UTC)
	return status.Snapshot{
		Scope: "xds:///checkout", Taken: at, NodeID: "web-1", SlowWatchers: 2,
		Node: &corev3.Node{Id: "web-1", UserAgentName: "xdsforge", ClientFeatures: []string{"a", "b"}},
		Counts: []status.Count{
			{OldStyle: true, Type: "envoy.config.cluster.v3.Cluster", State: "ACKED", Cached: true, Resources: 1},
			{Authority: "east.example", Type: "example.Own", State: "DOES_NOT_EXIST", Resources: 1},
		},
		Servers: []status.Server{
			{Entry: server, State: status.Connected, Connected: true, Failures: 1, Delta: true, Streams: 2, Requests: 5, Responses: 4, Rejected: 1, Repeated: 1, Sent: 100, Received: 1000},
			{
				Entry: server, State: status.Waiting, RetryAt: at.Add(time.Second), ErrAt: at, DownSince: at, Attempts: 3,
				Err: fmt.Errorf("%w: connection\nrefused", resource.ErrTransport),
			},
		},
		Traffic: []status.Traffic{
			{Server: server, Type: "envoy.config.cluster.v3.Cluster", Version: "7\n", Valid: 3, Invalid: 1}, {Type: "example.Own"},
		},
		Authorities: []status.Authority{
			{OldStyle: true, Servers: []*bootstrap.Server{server}, Active: server},
			{Name: "east.example", Servers: []*bootstrap.Server{server, server}},
		},
		Resources: []status.Resource{
			{
				Type: "envoy.config.cluster.v3.Cluster", Name: name("checkout"), State: "ACKED", Version: "7", Updated: at, Expires: at.Add(time.Hour),
				Update: &cluster.Update{
					Discovery: cluster.EDS{ServiceName: "checkout-endpoints"}, LBPolicy: resource.LBConfig{Name: "round_robin", Config: "{}"},
					MaxRequests: 1024, LoadReports: server, OutlierDetection: &cluster.OutlierDetection{Interval: 10 * time.Second},
				},
				Watchers: []status.Watcher{{}, {Behind: 1500 * time.Millisecond}},
			},
			{
				Type: "envoy.config.route.v3.RouteConfiguration", Name: name("routes"), State: "NACKED", RejectedVersion: "8", RejectedAt: at, ErrAt: at,
				Update: &route.Update{VirtualHosts: []route.VirtualHost{{Domains: []string{"*"}, Routes: []route.Route{
					{Path: route.Prefix{Value: "/"}, Action: route.WeightedClusters{Total: 2, Clusters: []route.WeightedCluster{{Name: "a", Weight: 2}}}},
				}}}},
				Err: &resource.Error{Kind: resource.ErrInvalid, Type: "envoy.config.route.v3.RouteConfiguration", Name: name("routes"), Err: errors.New("no routes")},
			},
			{Type: "example.Own", Name: name("mine"), State: "ACKED", Update: &foreign{Text: "shown"}},
			{Type: "example.Own", Name: name("gone"), Authority: "east.example", State: "DOES_NOT_EXIST", Err: resource.ErrRemoved, Collection: true},
		},
	}
}

// The JSON of a snapshot is complete, stable and without credentials. Set UPDATE in the environment
// to rewrite the golden file.
func TestJSON(t *testing.T) {
	s := snapshot(t)
	got, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	const golden = "testdata/snapshot.json"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("JSON is\n%s, want that of %s; UPDATE=1 writes it", got, golden)
	}
	if bytes.Contains(got, []byte(password)) {
		t.Error("JSON has a password")
	}
}

// Kind returns the most specific kind of an error.
func TestKinds(t *testing.T) {
	for kind, err := range map[string]error{
		"REMOVED": resource.ErrRemoved, "NOT_FOUND": resource.ErrNotFound, "TIMEOUT": resource.ErrTimeout, "INVALID": resource.ErrInvalid,
		"DENIED": resource.ErrDenied, "UNAVAILABLE": resource.ErrUnavailable, "TRANSPORT": resource.ErrTransport,
		"CLOSED": resource.ErrClosed, "UNKNOWN_TYPE": resource.ErrUnknownType, "": errors.New("other"),
	} {
		b, failed := json.Marshal(status.Resource{Err: fmt.Errorf("text: %w", err)})
		var got struct{ Error struct{ Kind, Text string } }
		if failed = errors.Join(failed, json.Unmarshal(b, &got)); failed != nil {
			t.Fatal(failed)
		}
		if got.Error.Kind != kind || !strings.HasPrefix(got.Error.Text, "text: ") {
			t.Errorf("%v is %+v, want kind %q", err, got.Error, kind)
		}
	}
}

// Each entry prints as one readable line.
func TestString(t *testing.T) {
	s := snapshot(t)
	for _, tt := range []struct {
		part fmt.Stringer
		want string
	}{
		{s, `scope "xds:///checkout": node "web-1": 2 servers, 2 authorities, 4 resources, 2 times slow watchers at 2025-01-02T03:04:05Z`},
		{s.Servers[0], `xds.example:443 (insecure; trusted_xds_server) CONNECTED: 2 streams, 5 requests, 4 responses, 1 rejected`},
		{s.Servers[1], `xds.example:443 (insecure; trusted_xds_server) WAITING: 0 streams, 0 requests, 0 responses, 3 attempts failed: control plane unreachable: connection\nrefused`},
		{s.Authorities[0], `old-style names: xds.example:443 in use, of 1 servers`},
		{s.Authorities[1], `"east.example": none of 2 servers in use`},
		{s.Resources[0], `Cluster "checkout" ACKED version "7", 2 watchers`},
		{s.Resources[1], `RouteConfiguration "routes" NACKED rejected "8", 0 watchers: RouteConfiguration "routes": invalid: no routes`},
		{s.Resources[0].Watchers[0], "up to date"},
		{s.Resources[0].Watchers[1], "1.5s behind"},
		{s.Counts[0], `old-style names: 1 Cluster acked`},
		{s.Counts[1], `"east.example": 1 Own does_not_exist`},
		{s.Traffic[0], `xds.example:443 (insecure; trusted_xds_server) Cluster: 3 valid, 1 invalid, version "7\n"`},
		{s.Traffic[1], `<nil> Own: 0 valid, 0 invalid`},
		{status.Count{Type: "X", State: "NACKED", Cached: true}, `"": 0 X nacked_but_cached`},
		{status.Snapshot{}, `node "": 0 servers, 0 authorities, 0 resources, 0 times slow watchers`},
		{status.Server{}, `<nil> : 0 streams, 0 requests, 0 responses`},
		{status.Authority{}, `"": none of 0 servers in use`},
		{status.Resource{}, ` "" , 0 watchers`},
	} {
		if got := tt.part.String(); got != tt.want {
			t.Errorf("%T is\n%s, want\n%s", tt.part, got, tt.want)
		}
	}
}
