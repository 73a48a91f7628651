package clustermanager_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clustermanager"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
)

// configured returns a world whose policy has a configuration.
func configured(t *testing.T, config string) *world {
	return newWorld(t, grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"`+clustermanager.Name+`":`+config+`}]}`))
}

// A subscriber records which clusters are subscribed to, and which no longer.
type subscriber struct{ held, released chan string }

func newSubscriber() *subscriber { return &subscriber{make(chan string, 8), make(chan string, 8)} }

func (h *subscriber) Subscribe(name string) func() {
	h.held <- name
	return func() { h.released <- name }
}

// A cluster in its configuration means that the policy is for policies that choose clusters.
func TestOneCluster(t *testing.T) {
	b := startAll(t, 1)
	w := configured(t, `{"cluster":"c"}`)
	h := newSubscriber()
	w.state.Subscriber = h
	w.set(nil) // the call waits until it is added
	done := make(chan error)
	go func() {
		_, err := w.call(t.Context(), lbtree.Call{Cluster: "ignored"})
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("a call did not wait for the cluster: %v", err)
	case name := <-h.held:
		if name != "c" {
			t.Errorf("held is %q, want c", name)
		}
	}
	w.one(eds(roundRobin, locality("x", 0, 1, b[0])))
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = w.Close()
	<-h.released
	if len(h.held) > 0 {
		t.Error("the cluster was held twice")
	}
}

func TestLoadReportingServer(t *testing.T) {
	b := startAll(t, 1)
	config, err := bootstrap.Parse([]byte(`{"xds_servers":[{"server_uri":"known","channel_creds":[{"type":"insecure"}]}],"node":{"id":"n"}}`))
	if err != nil {
		t.Fatal(err)
	}
	field := func(uri string) string {
		return `{"lrs_load_reporting_server":{"server_uri":"` + uri + `","channel_creds":[{"type":"insecure"}]}}`
	}
	l := &ledger{store: load.NewStore(nil), want: server(t, "known")}

	w := configured(t, field("known"))
	w.state.Bootstrap, w.state.Loads = config, l
	w.one(eds(roundRobin, locality("x", 0, 1, b[0])))
	w.to("c")
	if s := l.report().GetUpstreamLocalityStats(); len(s) != 1 || s[0].GetTotalSuccessfulRequests() != 1 {
		t.Errorf("reported is %v, want one call", s)
	}

	w = configured(t, field("evil"))
	w.state.Bootstrap, w.state.Loads = config, l
	w.one(eds(roundRobin, locality("x", 0, 1, b[0])))
	_, err = w.call(t.Context(), lbtree.Call{Cluster: "c"})
	if status.Code(err) != codes.Unavailable || !strings.Contains(err.Error(), load.ErrServerNotInBootstrap.Error()) {
		t.Errorf("with a server that the bootstrap has not, a call: %v", err)
	}
}

func TestWithoutState(t *testing.T) {
	w := newWorld(t)
	w.resolver.InitialState(resolver.State{})
	_, err := w.call(t.Context(), lbtree.Call{Cluster: "c"})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("a call: %v; must be UNAVAILABLE", err)
	}
}

// The tree runs a program's own policy, from the cluster's configuration or from a cluster
// specifier plugin.
func TestCustomPolicy(t *testing.T) {
	b := startAll(t, 2)
	w := newWorld(t)
	custom := resource.LBConfig{Name: customName, Config: `{"index":1}`}
	w.set(map[string]xdsconfig.Cluster{
		"direct": eds(custom, locality("x", 0, 1, b...)),
		"nested": eds(resource.LBConfig{Name: "xds_wrr_locality_experimental", Config: `{"childPolicy":[{"unknown":{}},{"` + customName + `":{"index":1}}]}`}, locality("x", 0, 1, b...)),
		"none":   eds(resource.LBConfig{Name: "nobody_registered_it", Config: `{}`}, locality("x", 0, 1, b...)),
	})
	for _, name := range []string{"direct", "nested"} {
		if got := w.to(name); got != b[1].addr {
			t.Errorf("%s: a call reached %s; want the second endpoint", name, got)
		}
	}
	if _, err := w.call(t.Context(), lbtree.Call{Cluster: "none"}); err == nil || !strings.Contains(err.Error(), "nobody_registered_it") {
		t.Errorf("with a policy that is not registered, a call: %v", err)
	}
}

func TestSpecifierPlugin(t *testing.T) {
	b := startAll(t, 1)
	w := newWorld(t)
	h := newSubscriber()
	w.state.Subscriber = h
	target := xdsconfig.PluginTarget("p")
	w.plugins = map[string]resource.LBConfig{target: {Name: chooserName, Config: `{}`}}
	w.set(map[string]xdsconfig.Cluster{"c": eds(roundRobin, locality("x", 0, 1, b[0]))}, []string{}...)
	if got := w.to(target); got != b[0].addr {
		t.Errorf("a call came to %s", got)
	}
	if name := <-h.held; name != "c" {
		t.Errorf("held is %q, want the cluster that was chosen", name)
	}
}

const (
	customName  = "balancertest_custom"
	chooserName = "balancertest_chooser"
)

// custom is a policy that uses one of its addresses through the older API, without listeners.
type custom struct {
	cc balancer.ClientConn
	sc balancer.SubConn
}

type customConfig struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	Index int `json:"index"`
}

type customBuilder struct{}

func (customBuilder) Name() string { return customName }
func (customBuilder) Build(cc balancer.ClientConn, _ balancer.BuildOptions) balancer.Balancer {
	return &custom{cc: cc}
}

func (customBuilder) ParseConfig(raw json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c := new(customConfig)
	return c, json.Unmarshal(raw, c)
}

// customUpdates counts the updates of all these policies.
var customUpdates atomic.Int64

func (c *custom) UpdateClientConnState(s balancer.ClientConnState) error {
	customUpdates.Add(1)
	if c.sc != nil {
		return nil
	}
	config, ok := s.BalancerConfig.(*customConfig)
	if !ok {
		return errors.New("it is not my configuration")
	}
	var err error
	c.sc, err = c.cc.NewSubConn(s.ResolverState.Addresses[config.Index:config.Index+1], balancer.NewSubConnOptions{}) //nolint:staticcheck // there is no other way to create one
	if err == nil {
		c.sc.Connect()
	}
	return err
}

func (c *custom) UpdateSubConnState(sc balancer.SubConn, s balancer.SubConnState) {
	c.cc.UpdateState(balancer.State{ConnectivityState: s.ConnectivityState, Picker: only{sc}})
}
func (*custom) ResolverError(error) {}
func (*custom) ExitIdle()           {}
func (*custom) Close()              {}

type only struct{ sc balancer.SubConn }

func (o only) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{SubConn: o.sc}, nil
}

// chooser is a policy that chooses a cluster, always "c".
type chooser struct{}

func (chooser) Name() string { return chooserName }
func (chooser) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	return &chosen{balancer.Get(clustermanager.Name).Build(cc, o)}
}

type chosen struct{ balancer.Balancer }

func (c *chosen) UpdateClientConnState(s balancer.ClientConnState) error {
	config, err := balancer.Get(clustermanager.Name).(balancer.ConfigParser).ParseConfig([]byte(`{"cluster":"c"}`))
	if err != nil {
		return err
	}
	s.BalancerConfig = config
	return c.Balancer.UpdateClientConnState(s)
}
