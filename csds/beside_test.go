package csds_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	statusv3 "github.com/envoyproxy/go-control-plane/envoy/service/status/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/xds" // the resolver of grpc-go
	grpccsds "google.golang.org/grpc/xds/csds"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/csds"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/grpcxds"
	"github.com/xdsforge/xdsforge/internal/feature"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A scenario is a script of the control planes of an authority, which two channels use for one
// target: one of grpcxds and one of grpc-go's xds package.
type scenario struct {
	name     string // also that of the authority
	features []string
	servers  int // default: one
	script   func(p *pair)
	// want has the entries of both, by type. Where the two differ, theirs has those of grpc-go.
	want, theirs map[string]string
}

const (
	requested = "REQUESTED"
	accepted  = `ACKED version "1" with content`
	replaced  = `ACKED version "2" with content`
)

// with returns the entries of a target that works, with changes. An empty text removes an entry.
func with(changes map[string]string) map[string]string {
	all := map[string]string{"Listener": accepted, "RouteConfiguration": accepted, "Cluster": accepted, "ClusterLoadAssignment": accepted}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

func scenarios() []scenario {
	type entries = map[string]string
	return []scenario{
		{name: "requested", script: func(p *pair) { p.planes[0].Hold() }, want: entries{"Listener": requested}},
		{name: "accepted", script: (*pair).serve, want: with(nil)},
		{name: "rejected", script: func(p *pair) {
			p.serve()
			p.set(0, invalidCluster(p.of(cluster.Type().Name())))
		}, want: with(entries{"Cluster": `NACKED error of version "2"`, "ClusterLoadAssignment": ""})},
		{name: "rejected-cached", script: func(p *pair) {
			p.works()
			p.set(0, invalidCluster(p.of(cluster.Type().Name())))
		}, want: with(entries{"Cluster": `NACKED version "1" with content error of version "2"`})},
		// A88 drops the resource here. grpc-go does not know the feature.
		{
			name: "rejected-failing", features: []string{feature.FailOnDataErrors}, script: func(p *pair) {
				p.works()
				p.set(0, invalidCluster(p.of(cluster.Type().Name())))
			}, want: with(entries{"Cluster": `NACKED error of version "2"`, "ClusterLoadAssignment": ""}),
			theirs: with(entries{"Cluster": `NACKED version "1" with content error of version "2"`}),
		},
		// A88 keeps the resource and adds an error. grpc-go drops it without an error.
		{
			name: "deleted", script: func(p *pair) {
				p.works()
				p.planes[0].Delete(cluster.Type().URL(), p.of(cluster.Type().Name()))
			}, want: with(entries{"Cluster": `DOES_NOT_EXIST version "1" with content error`}),
			theirs: with(entries{"Cluster": "DOES_NOT_EXIST", "ClusterLoadAssignment": ""}),
		},
		{
			name: "deleted-failing", features: []string{feature.FailOnDataErrors}, script: func(p *pair) {
				p.works()
				p.planes[0].Delete(cluster.Type().URL(), p.of(cluster.Type().Name()))
			}, want: with(entries{"Cluster": "DOES_NOT_EXIST error", "ClusterLoadAssignment": ""}),
			theirs: with(entries{"Cluster": "DOES_NOT_EXIST", "ClusterLoadAssignment": ""}),
		},
		// A53's feature is obsolete by A88, which shows an ignored deletion. grpc-go hides it.
		{name: "deleted-ignored", features: []string{"ignore_resource_deletion"}, script: func(p *pair) {
			p.works()
			p.planes[0].Delete(cluster.Type().URL(), p.of(cluster.Type().Name()))
		}, want: with(entries{"Cluster": `DOES_NOT_EXIST version "1" with content error`}), theirs: with(nil)},
		// A88 adds the error of the timer.
		{
			name: "timed-out", script: (*pair).serveListener,
			want:   entries{"Listener": accepted, "RouteConfiguration": "DOES_NOT_EXIST error"},
			theirs: entries{"Listener": accepted, "RouteConfiguration": "DOES_NOT_EXIST"},
		},
		{
			name: "timed-out-transient", features: []string{feature.ResourceTimerIsTransientError}, script: (*pair).serveListener,
			want:   entries{"Listener": accepted, "RouteConfiguration": "TIMEOUT error"},
			theirs: entries{"Listener": accepted, "RouteConfiguration": "DOES_NOT_EXIST"},
		},
		// grpc-go does not read errors of the control plane, so its timer ends.
		{
			name: "refused", script: func(p *pair) {
				p.serveListener()
				p.planes[0].Set(route.Type().URL(), memoryads.Resource{
					Name: p.of(route.Type().Name()), Error: &rpcstatus.Status{Code: int32(codes.PermissionDenied), Message: "no"},
				})
			}, want: entries{"Listener": accepted, "RouteConfiguration": "RECEIVED_ERROR error"},
			theirs: entries{"Listener": accepted, "RouteConfiguration": "DOES_NOT_EXIST"},
		},
		{name: "unreachable", script: func(p *pair) { p.lose(0) }, want: entries{"Listener": requested}},
		{name: "unreachable-cached", script: func(p *pair) {
			p.works()
			p.lose(0)
		}, want: with(nil)},
		{name: "fell-back", servers: 2, script: func(p *pair) {
			p.lose(0)
			p.serveBy(1)
		}, want: with(nil)},
		// grpc-go requests from the first server only the resources that were watched before the
		// fallback, and keeps the others from the fallback server.
		{
			name: "returned", servers: 2, script: func(p *pair) {
				p.lose(0)
				p.serveBy(1)
				p.await(with(nil), nil)
				p.serveBy(0)
				p.serveBy(0)
				p.planes[0].Refuse(nil)
			}, want: entries{"Listener": replaced, "RouteConfiguration": replaced, "Cluster": replaced, "ClusterLoadAssignment": replaced},
			theirs: with(entries{"Listener": replaced}),
		},
	}
}

// A pair is a scenario in progress.
type pair struct {
	*testing.T
	authority    string
	planes       []*memoryads.Server
	ours, theirs statusv3.ClientStatusDiscoveryServiceServer
}

// of returns the name of the scenario's resource of a type.
func (p *pair) of(message string) string {
	name := "r"
	if message == listener.Type().Name() {
		name = "svc"
	}
	return fmt.Sprintf("xdstp://%s/%s/%s", p.authority, message, name)
}

// set gives a control plane a resource of the target.
func (p *pair) set(plane int, m proto.Message) {
	p.Helper()
	body, err := proto.Marshal(m)
	if err != nil {
		p.Fatal(err)
	}
	message := string(m.ProtoReflect().Descriptor().FullName())
	p.planes[plane].Set("type.googleapis.com/"+message, memoryads.Resource{Name: p.of(message), Body: body})
}

func (p *pair) setText(plane int, m proto.Message, format string, args ...any) {
	p.Helper()
	if err := prototext.Unmarshal(fmt.Appendf(nil, format, args...), m); err != nil {
		p.Fatal(err)
	}
	p.set(plane, m)
}

func (p *pair) listener(plane int) {
	p.Helper()
	p.setText(plane, new(listenerv3.Listener), `name: %q api_listener { api_listener {
		[type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager] {
			rds { config_source { ads {} } route_config_name: %q }
			http_filters { name: "router" typed_config { [type.googleapis.com/envoy.extensions.filters.http.router.v3.Router] {} } }
		} } }`, p.of(listener.Type().Name()), p.of(route.Type().Name()))
}

func (p *pair) serveListener() { p.listener(0) }

// serve gives the first control plane all resources of the target.
func (p *pair) serve() { p.serveBy(0) }

func (p *pair) serveBy(plane int) {
	p.Helper()
	p.setText(plane, new(endpointv3.ClusterLoadAssignment), `cluster_name: %q endpoints { locality { region: "r" } load_balancing_weight { value: 1 }
		lb_endpoints { endpoint { address { socket_address { address: "127.0.0.1" port_value: 1 } } } } }`, p.of(endpoint.Type().Name()))
	p.setText(plane, new(clusterv3.Cluster), `name: %q type: EDS eds_cluster_config { eds_config { ads {} } service_name: %q }`,
		p.of(cluster.Type().Name()), p.of(endpoint.Type().Name()))
	p.setText(plane, new(routev3.RouteConfiguration), `name: %q virtual_hosts { name: "h" domains: "*" routes { match { prefix: "" } route { cluster: %q } } }`,
		p.of(route.Type().Name()), p.of(cluster.Type().Name()))
	p.listener(plane)
}

// works waits until both channels have all resources.
func (p *pair) works() {
	p.Helper()
	p.serve()
	p.await(with(nil), nil)
}

// lose makes a control plane unreachable.
func (p *pair) lose(plane int) {
	p.planes[plane].Refuse(errors.New("refused"))
	p.planes[plane].Disconnect(errors.New("cut"))
}

// await waits until both have the wanted entries, and the same content.
func (p *pair) await(want, theirs map[string]string) {
	p.Helper()
	if theirs == nil {
		theirs = want
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.NewTimer(60 * time.Second)
	defer deadline.Stop()
	for {
		our, ourText := p.entries(p.ours)
		their, theirText := p.entries(p.theirs)
		if maps.Equal(ourText, want) && maps.Equal(theirText, theirs) {
			for typ, g := range our {
				if t := their[typ].GetXdsConfig(); t != nil && g.GetXdsConfig() != nil && (t.GetTypeUrl() != g.GetXdsConfig().GetTypeUrl() || !bytes.Equal(t.GetValue(), g.GetXdsConfig().GetValue())) {
					p.Errorf("%s: the content differs: %v, grpc-go has %v", typ, g, their[typ])
				}
			}
			return
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			p.Fatalf("entries = %q, grpc-go has %q; want %q and %q", ourText, theirText, want, theirs)
		}
	}
}

// entries returns the entries of the target, by type, and as text. The scope is the target for both.
func (p *pair) entries(s statusv3.ClientStatusDiscoveryServiceServer) (list map[string]*statusv3.ClientConfig_GenericXdsConfig, text map[string]string) {
	p.Helper()
	list, text = make(map[string]*statusv3.ClientConfig_GenericXdsConfig), make(map[string]string)
	for _, c := range fetch(p.T, s, new(statusv3.ClientStatusRequest)).GetConfig() {
		if c.GetClientScope() != "xds://"+p.authority+"/svc" {
			continue
		}
		for _, g := range c.GetGenericXdsConfigs() {
			message := g.GetTypeUrl()[strings.LastIndexByte(g.GetTypeUrl(), '/')+1:]
			typ := message[strings.LastIndexByte(message, '.')+1:]
			list[typ], text[typ] = g, p.entryText(g)
			if g.GetName() != p.of(message) {
				p.Errorf("%s has the name %q, want %q", typ, g.GetName(), p.of(message))
			}
		}
	}
	return list, text
}

// entryText describes an entry without times and details. grpc-go sets last_updated to the year 1 if
// there is no content.
func (p *pair) entryText(g *statusv3.ClientConfig_GenericXdsConfig) string {
	text := g.GetClientStatus().String()
	if g.GetVersionInfo() != "" {
		text += fmt.Sprintf(" version %q", g.GetVersionInfo())
	}
	if g.GetXdsConfig() != nil {
		text += " with content"
	}
	if has := g.GetLastUpdated().AsTime().Year() > 1970; has != (g.GetXdsConfig() != nil) {
		text += " and the time " + g.GetLastUpdated().AsTime().String()
	}
	if e := g.GetErrorState(); e != nil {
		text += " error"
		if e.GetVersionInfo() != "" {
			text += fmt.Sprintf(" of version %q", e.GetVersionInfo())
		}
		if e.GetDetails() == "" || e.GetLastUpdateAttempt().AsTime().Year() <= 1970 {
			text += " without details or time"
		}
	}
	return text
}

// Our CSDS and grpc-go's show the same entries after the same script of a control plane, but for the
// differences that the scenarios name.
func TestBesideGRPC(t *testing.T) {
	all := scenarios()
	pairs, config := startPlanes(t, all)
	parsed, err := bootstrap.Parse(config)
	if err != nil {
		t.Fatal(err)
	}
	env, err := xdsforge.NewEnv(xdsforge.WithBootstrap(parsed), xdsforge.WithTypes(grpcxds.Register))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = env.Close() })
	ours := serve(t, csds.Config{}, env)
	theirs, err := grpccsds.NewClientStatusDiscoveryServer()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(theirs.Close)
	for i, s := range all { // all at once, so that their timers run at the same time
		pairs[i].ours, pairs[i].theirs = ours, theirs
		pairs[i].connect(env)
		s.script(pairs[i])
	}
	for i, s := range all {
		t.Run(s.name, func(t *testing.T) {
			pairs[i].T = t
			pairs[i].await(s.want, s.theirs)
		})
	}
}

// newPlane starts a control plane on loopback.
func newPlane(t *testing.T) (plane *memoryads.Server, addr string) {
	t.Helper()
	plane = memoryads.NewServer(memoryads.Type{URL: listener.Type().URL(), Complete: true}, memoryads.Type{URL: route.Type().URL()},
		memoryads.Type{URL: cluster.Type().URL(), Complete: true}, memoryads.Type{URL: endpoint.Type().URL()})
	addr, stop, err := plane.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return plane, addr
}

// startPlanes starts the control planes of all scenarios, and writes a bootstrap file that has one
// authority for each. grpc-go reads it once.
func startPlanes(t *testing.T, all []scenario) (pairs []*pair, config []byte) {
	t.Helper()
	var authorities []string
	for _, s := range all {
		p := &pair{T: t, authority: s.name}
		var servers []string
		for range max(s.servers, 1) {
			plane, addr := newPlane(t)
			features := ""
			if len(s.features) > 0 {
				features = `, "server_features": ["` + strings.Join(s.features, `", "`) + `"]`
			}
			servers = append(servers, fmt.Sprintf(`{"server_uri": %q, "channel_creds": [{"type": "insecure"}]%s}`, addr, features))
			p.planes = append(p.planes, plane)
		}
		pairs = append(pairs, p)
		authorities = append(authorities, fmt.Sprintf(`%q: {"xds_servers": [%s]}`, s.name, strings.Join(servers, ", ")))
	}
	slices.Sort(authorities)
	config = fmt.Appendf(nil, `{"node": {"id": "n"}, "xds_servers": [{"server_uri": "127.0.0.1:1", "channel_creds": [{"type": "insecure"}]}], "authorities": {%s}}`,
		strings.Join(authorities, ", "))
	if err := os.WriteFile(os.Getenv(bootstrap.EnvFile), config, 0o600); err != nil {
		t.Fatal(err)
	}
	return pairs, config
}

// connect opens both channels.
func (p *pair) connect(env *xdsforge.Env) {
	p.Helper()
	target := "xds://" + p.authority + "/svc"
	ours, err := grpcxds.Dialer{Env: env}.NewClient(target, grpcxds.WithCredentials(insecure.NewCredentials()))
	if err != nil {
		p.Fatal(err)
	}
	theirs, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		p.Fatal(err)
	}
	for _, cc := range []*grpc.ClientConn{ours, theirs} {
		cc.Connect()
		p.Cleanup(func() { _ = cc.Close() })
	}
}
