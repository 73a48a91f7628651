package client_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/internal/controlplane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	clusterName  = "envoy.config.cluster.v3.Cluster"
	endpointName = "envoy.config.endpoint.v3.ClusterLoadAssignment"
)

// The test's types decode the whole message, so that these tests depend on
// nothing but the contract.
var (
	clusters = &resource.Descriptor{
		Name: clusterName, Complete: true, Decode: decodeCluster, NewShard: newShard,
		PeekName: func(b []byte) (string, error) {
			name, err := wire.PeekString(b, 1)
			if name == "panic" {
				panic("a name")
			}
			return name, err
		},
	}
	endpoints = &resource.Descriptor{
		Name: endpointName, Decode: decodeEndpoint, NewShard: newShard,
		PeekName: func(b []byte) (string, error) { return wire.PeekString(b, 1) },
	}
)

// An update is a decoded message; tag is the part that tests look at.
type update struct {
	resource.Meta
	tag string
}

func newShard() resource.Shard { return runtime.NewShard[*update]() }

func decodeCluster(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
	m := new(clusterv3.Cluster)
	if err := proto.Unmarshal(body, m); err != nil {
		return nil, wire.Unparseable(clusterName, err)
	}
	switch m.GetAltStatName() {
	case "panic":
		panic("alt_stat_name")
	case "wordy":
		return nil, errors.New(strings.Repeat("word ", 1<<20))
	case "nothing":
		return nil, nil //nolint:nilnil // a faulty plugin
	case "another":
		m.Name += " too"
		n, err := dc.ParseName(m.GetName())
		other := resource.DecodeContext{Name: n, Server: dc.Server}
		return &update{Meta: other.Meta(body)}, err
	}
	var v resource.Violations
	if m.GetLbPolicy() == clusterv3.Cluster_MAGLEV {
		v.Add((*resource.Path)(nil).Field("lb_policy"), m.GetLbPolicy(), "must not be MAGLEV")
	}
	if m.GetConnectTimeout().AsDuration() < 0 {
		v.Add((*resource.Path)(nil).Field("connect_timeout"), m.GetConnectTimeout().AsDuration(), "must be at least 0s")
	}
	if err := v.Err(); err != nil {
		return nil, err
	}
	return &update{dc.Meta(body), m.GetAltStatName()}, nil
}

func decodeEndpoint(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
	m := new(endpointv3.ClusterLoadAssignment)
	if err := proto.Unmarshal(body, m); err != nil {
		return nil, wire.Unparseable(endpointName, err)
	}
	return &update{Meta: dc.Meta(body)}, nil
}

func cluster(name, tag string) *clusterv3.Cluster {
	return &clusterv3.Cluster{Name: name, AltStatName: tag}
}

func assignment(name string, ports ...uint32) *endpointv3.ClusterLoadAssignment {
	a := &endpointv3.ClusterLoadAssignment{ClusterName: name}
	for _, p := range ports {
		a.Endpoints = append(a.Endpoints, &endpointv3.LocalityLbEndpoints{LbEndpoints: []*endpointv3.LbEndpoint{{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
				Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
					Address: "10.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: p},
				}}},
			}},
		}}})
	}
	return a
}

// startServer runs a real control plane for the test.
func startServer(t testing.TB) *controlplane.Server {
	t.Helper()
	s, err := controlplane.Start([]string{clusterName, endpointName})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func set(t testing.TB, s *controlplane.Server, name string, m proto.Message) {
	t.Helper()
	if err := s.Set(name, m); err != nil {
		t.Fatal(err)
	}
}

// server is a bootstrap entry.
func server(addr string, features ...any) bootstrap.ServerSpec {
	return bootstrap.ServerSpec{
		URI: addr, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}, Features: features,
	}
}

func config(t testing.TB, spec bootstrap.Spec, opts ...bootstrap.Option) *bootstrap.Config {
	t.Helper()
	spec.Node = &corev3.Node{Id: "node-1", Cluster: "tests"}
	c, err := bootstrap.New(spec, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// oneServer is the bootstrap of a client with one control plane.
func oneServer(t testing.TB, addr string, features ...any) *bootstrap.Config {
	t.Helper()
	return config(t, bootstrap.Spec{Servers: []bootstrap.ServerSpec{server(addr, features...)}})
}

func newClient(t testing.TB, c *bootstrap.Config, opts ...option) *client.Client {
	t.Helper()
	return newClientOf(t, c, []*resource.Descriptor{clusters, endpoints}, opts...)
}

// newClientOf is newClient for other types.
func newClientOf(t testing.TB, c *bootstrap.Config, of []*resource.Descriptor, opts ...option) *client.Client {
	t.Helper()
	types, err := resource.NewSet(of...)
	if err != nil {
		t.Fatal(err)
	}
	fast := withBackoff(ads.Backoff{Base: 50 * time.Millisecond, Factor: 1, Max: 50 * time.Millisecond})
	cl, err := newWith(c, types, append([]option{fast}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cl.Close(); err != nil {
			t.Error(err)
		}
	})
	return cl
}

func testContext(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// A follower reads an observation step by step.
type follower struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // one test's
	o   resource.Observation
}

func follow(ctx context.Context, t testing.TB, c resource.Source, typ *resource.Descriptor, name string) *follower {
	t.Helper()
	o, err := c.Observe(typ, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Stop)
	return &follower{t, ctx, o}
}

// until reads states until one fits.
func (f *follower) until(what string, fits func(*update, error) bool) (*update, error) {
	f.t.Helper()
	var seen []string
	for {
		s, err := f.o.Next(f.ctx)
		if err != nil {
			f.t.Fatalf("%v before %s; seen: %s", err, what, strings.Join(seen, ", "))
		}
		u, _ := s.Update.(*update)
		if fits(u, s.Err) {
			return u, s.Err
		}
		seen = append(seen, fmt.Sprint(u != nil, s.Err))
	}
}

func (f *follower) value(tag string) *update {
	f.t.Helper()
	u, _ := f.until("value "+tag, func(u *update, err error) bool { return u != nil && err == nil && u.tag == tag })
	return u
}

// failed and ambient return the message of the error.
func (f *follower) failed(kind error) string {
	f.t.Helper()
	_, err := f.until("failure "+kind.Error(), func(u *update, err error) bool { return u == nil && errors.Is(err, kind) })
	return err.Error()
}

func (f *follower) ambient(kind error) string {
	f.t.Helper()
	_, err := f.until("ambient "+kind.Error(), func(u *update, err error) bool { return u != nil && errors.Is(err, kind) })
	return err.Error()
}
