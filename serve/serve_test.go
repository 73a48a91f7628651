package serve_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/plugins/builtin"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/registry"
	"github.com/xdsforge/xdsforge/serve"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func types(t *testing.T) *resource.Set {
	t.Helper()
	r := registry.New()
	standard.Register(r)
	builtin.Register(r)
	set, err := r.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func eds(name, service string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig: &clusterv3.Cluster_EdsClusterConfig{ServiceName: service, EdsConfig: &corev3.ConfigSource{
			ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: new(corev3.AggregatedConfigSource)},
		}},
	}
}

// A world is a server with a source for old-style names and one for the authority "east", and a
// client.
type world struct {
	memory      *source.Memory // behind store
	store, east publish.Store
	server      *serve.Server
	client      *xdsforge.Client
}

func newWorld(t *testing.T, feature string, opts ...serve.Option) *world {
	t.Helper()
	set := types(t)
	w := &world{memory: source.NewMemory(), east: publish.NewChecked(source.NewMemory(), set)}
	w.store = publish.NewChecked(w.memory, set)
	var err error
	if w.server, err = serve.New(set, map[string]source.Source{"": w.store, "east": w.east}, opts...); err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer(serve.ServerOptions()...)
	w.server.Register(g)
	lis := bufconn.Listen(1 << 20)
	done := make(chan struct{})
	go func() { defer close(done); _ = g.Serve(lis) }()
	config, err := bootstrap.Parse(fmt.Appendf(nil, `{"xds_servers": [{"server_uri": "passthrough:///x", "channel_creds": [{"type": "insecure"}],
		"server_features": [%q]}], "authorities": {"east": {}}, "node": {"id": "me"}}`, feature))
	if err == nil {
		w.client, err = xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register), xdsforge.WithTransport(grpctransport.New(
			grpctransport.WithDialOptions(grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) })))))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.client.Close()
		g.Stop()
		<-done
		_ = w.server.Close()
	})
	return w
}

func (w *world) put(t *testing.T, s publish.Store, name, service string) {
	t.Helper()
	if _, err := publish.Put(t.Context(), s, cluster.Type(), eds(name, service)); err != nil {
		t.Fatal(err)
	}
}

func variants() []string { return []string{"xds.transport.delta", "xds_v3"} }

// A client of each variant follows the stores of two authorities.
func TestServe(t *testing.T) {
	for _, feature := range variants() {
		t.Run(feature, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const eastern = "xdstp://east/envoy.config.cluster.v3.Cluster/a"
				w := newWorld(t, feature)
				w.put(t, w.store, "a", "one")
				w.put(t, w.store, eastern, "wrong")
				w.put(t, w.east, eastern, "two")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				services := make([][]string, 2)
				for i, name := range []string{"a", eastern} {
					go func() {
						for ev := range cluster.Watch(ctx, w.client, name) {
							if ev.Err == nil {
								services[i] = append(services[i], ev.Update.Discovery.(cluster.EDS).ServiceName)
							}
						}
					}()
				}
				pass(time.Second)
				w.put(t, w.store, "a", "three")
				pass(time.Second)
				if got := fmt.Sprint(services); got != "[[one three] [two]]" {
					t.Errorf("the client gets %s, want [one three] [two]", got)
				}
				clients := slices.Collect(w.server.Clients())
				if len(clients) != 1 || clients[0].Node != "me" || clients[0].Delta != (feature != "xds_v3") || len(clients[0].Types) != 1 {
					t.Fatalf("clients = %+v, want one with one type", clients)
				}
				if y := clients[0].Types[0]; y.Names != 2 || y.Sent == "" || y.Accepted != y.Sent || !y.UpToDate || y.Rejections != 0 {
					t.Errorf("type = %+v, want 2 names, all accepted", y)
				}
			})
		})
	}
}

// The state of a client has its rejections. The other authority goes on.
func TestRejections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "xds.transport.delta")
		bad := eds("bad", "x")
		bad.LbPolicy = clusterv3.Cluster_MAGLEV
		if _, err := publish.Put(t.Context(), w.store, cluster.Type(), bad); err == nil {
			t.Error("the checked store accepts an invalid cluster")
		}
		if _, err := publish.Put(t.Context(), w.memory, cluster.Type(), bad); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := cluster.Get(ctx, w.client, "bad"); !errors.Is(err, xdsforge.ErrInvalid) {
			t.Errorf("Get: %v, want an invalid cluster", err)
		}
		pass(time.Second)
		clients := slices.Collect(w.server.Clients())
		if len(clients) != 1 || len(clients[0].Types) != 1 {
			t.Fatalf("clients = %+v, want one with one type", clients)
		}
		if y := clients[0].Types[0]; y.Rejections != 1 || y.Rejected == "" || !strings.Contains(y.Reason, "lb_policy") || y.UpToDate {
			t.Errorf("type = %+v, want one rejection of lb_policy", y)
		}
	})
}

func pass(d time.Duration) { <-time.NewTimer(d).C; synctest.Wait() }

func TestMisuse(t *testing.T) {
	memory := map[string]source.Source{"": source.NewMemory()}
	for want, f := range map[string]func() (*serve.Server, error){
		"set of types is nil":  func() (*serve.Server, error) { return serve.New(nil, memory) },
		"no sources":           func() (*serve.Server, error) { return serve.New(types(t), nil) },
		`authority "x" is nil`: func() (*serve.Server, error) { return serve.New(types(t), map[string]source.Source{"x": nil}) },
		"Limits.Names = -1": func() (*serve.Server, error) {
			return serve.New(types(t), memory, serve.WithLimits(serve.Limits{Names: -1}))
		},
		"WithAnswerTimeout = 0s": func() (*serve.Server, error) { return serve.New(types(t), memory, serve.WithAnswerTimeout(0)) },
		"WithMaxStaleness = 0s":  func() (*serve.Server, error) { return serve.New(types(t), memory, serve.WithMaxStaleness(0)) },
		`WithStateDir = ""`:      func() (*serve.Server, error) { return serve.New(types(t), memory, serve.WithStateDir("", nil)) },
		"key = 5 bytes": func() (*serve.Server, error) {
			return serve.New(types(t), memory, serve.WithStateDir(t.TempDir(), []byte("short")))
		},
		"WithCoalesce = 0s": func() (*serve.Server, error) { return serve.New(types(t), memory, serve.WithCoalesce(0)) },
		"at most 1m0s":      func() (*serve.Server, error) { return serve.New(types(t), memory, serve.WithCoalesce(time.Hour)) },
		"pick is nil":       func() (*serve.Server, error) { return serve.New(types(t), memory, serve.WithViews(nil, nil)) },
		`view "x" is nil`: func() (*serve.Server, error) {
			return serve.New(types(t), memory, serve.WithViews(func(*corev3.Node) string { return "" }, map[string]source.Source{"x": nil}))
		},
		`clients[0] = "cart"`: func() (*serve.Server, error) {
			return serve.New(types(t), memory, serve.WithPermissions(serve.Permission{Clients: []string{"cart"}, Types: []string{"*"}, Authorities: []string{""}}))
		},
	} {
		if s, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New: %v, %v; want an error about %s", s, err, want)
		}
	}
}
