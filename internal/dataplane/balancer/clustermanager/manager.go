// Package clustermanager is the LB policy at the top of a channel. It has a child for each cluster
// that calls may be sent to. The call's route selects the child (gRFC A28). The policy reads an
// [lbtree.State] from the attributes of the resolver's state.
//
// The policies below it form the tree of gRFC A75. They are built directly, because grpc's registry
// has only this policy. A target cluster has its leaf clusters, in order of preference. A leaf
// cluster has its priorities. A priority has the policy of package policy that the control plane
// configures. The leaves of the tree are grpc's policies.
package clustermanager

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/serviceconfig"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/labels"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

// Name is the policy's name. It is unique to this module.
const Name = "xdsforge_cluster_manager"

// ServiceConfig is the service config that selects the policy.
const ServiceConfig = `{"loadBalancingConfig":[{"` + Name + `":{}}]}`

// A config is the policy's configuration, an object.
type config struct {
	serviceconfig.LoadBalancingConfig `json:"-"`

	// Cluster is the cluster of all calls. If it is empty, each call's route selects the cluster.
	// It is for policies that choose clusters and have this policy as a child for each (gRFC A74).
	Cluster string `json:"cluster"`
	// raw may have lrs_load_reporting_server. The cluster's load is then reported to that server
	// instead of the one that the cluster names. The server must be in the bootstrap (A47).
	raw []byte
}

type builder struct{}

// Register adds the policy to grpc's registry. Call it only during the initialization of the
// program.
func Register() { balancer.Register(builder{}) }

// Name implements [balancer.Builder].
func (builder) Name() string { return Name }

// ParseConfig implements [balancer.ConfigParser].
func (builder) ParseConfig(raw json.RawMessage) (serviceconfig.LoadBalancingConfig, error) {
	c := &config{raw: raw}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, fmt.Errorf("LB policy %s: %w", Name, err)
	}
	return c, nil
}

// Build implements [balancer.Builder].
func (builder) Build(cc balancer.ClientConn, options balancer.BuildOptions) balancer.Balancer {
	return newManager(cc, options)
}

var (
	errUnknown   = errors.New("not in the configuration")
	errNoCluster = errors.New("LB policy " + Name + `: cluster = ""; must be set below the LB policy of a cluster specifier plugin`)
	errNoState   = errors.New("LB policy " + Name + ": no xDS configuration; must be used with the resolver of grpcxds")
)

// A manager is the policy of one channel. Its loop owns all fields, unless noted otherwise.
type manager struct {
	env      *lbtree.Env  // of the tree; has no State before the first
	breakers *breaker.Set // used if the state has none
	// config is the policy's own configuration.
	config      *config
	unsubscribe func() // from the configured cluster; nil: not subscribed
	unlist      func() // from the trees of the channel; nil: not listed

	children  map[string]*entry
	picker    *routePicker
	err       error
	postponed bool // connectFirst will be called when the calls that waited have ended
	// changed says that the channel does not have the newest state.
	changed bool
}

func newManager(cc balancer.ClientConn, options balancer.BuildOptions) *manager {
	m := &manager{breakers: new(breaker.Set), config: new(config), children: make(map[string]*entry)}
	m.env = &lbtree.Env{Loop: serial.New(m.publish), Conn: cc, Options: options, Labels: labels.New()}
	return m
}

// UpdateClientConnState implements [balancer.Balancer]. When it returns, calls can be sent to the
// clusters of the state.
func (m *manager) UpdateClientConnState(s balancer.ClientConnState) error {
	state := lbtree.StateOf(s.ResolverState.Attributes)
	if state == nil || state.Config == nil {
		m.ResolverError(errNoState)
		return errNoState
	}
	var err error
	m.env.Loop.Do(func() {
		if c, ok := s.BalancerConfig.(*config); ok {
			m.config = c
		}
		if m.config.Cluster == "" && belowPlugin(s.ResolverState.Attributes) {
			err = errNoCluster
			m.fail(err)
			return
		}
		var server *bootstrap.Server
		if server, err = m.reportingServer(state); err != nil {
			m.fail(err)
			return
		}
		m.env.State, m.env.Attributes = m.complete(state, server), s.ResolverState.Attributes
		m.list()
		m.update()
		if state.Connect {
			m.exitIdle()
		}
	})
	return err
}

// reportingServer returns the server for load reports in the configuration, or nil if there is
// none.
func (m *manager) reportingServer(state *lbtree.State) (*bootstrap.Server, error) {
	if !bytes.Contains(m.config.raw, []byte("lrs")) {
		return nil, nil //nolint:nilnil // no server is no error
	}
	if state.Bootstrap == nil {
		return nil, fmt.Errorf("LB policy %s: %w", Name, load.ErrServerNotInBootstrap)
	}
	server, err := load.ParseServer(state.Bootstrap, m.config.raw)
	if err != nil {
		return nil, fmt.Errorf("LB policy %s: %w", Name, err)
	}
	return server, nil
}

// complete sets the unset fields of a state, and the server for load reports.
func (m *manager) complete(state *lbtree.State, server *bootstrap.Server) *lbtree.State {
	s := *state
	if s.Breakers == nil {
		s.Breakers = m.breakers
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	if server != nil {
		s.Config = reporting(s.Config, server)
	}
	return &s
}

// update adds, updates and closes children as the state needs.
func (m *manager) update() {
	c := m.env.State.Config
	targets := make(map[string]bool, len(c.Targets)+len(c.Plugins))
	if m.config.Cluster != "" {
		targets[m.config.Cluster] = true
		m.subscribe()
	} else {
		for _, name := range c.Targets {
			targets[name] = true
		}
		for name := range c.Plugins {
			targets[name] = true
		}
	}
	m.changed = true
	same := len(targets) == len(m.children)
	for name := range targets {
		e := m.children[name]
		if e == nil {
			same = false
			e = m.add(name)
		}
		m.updateEntry(e)
	}
	for name, e := range m.children {
		if !targets[name] {
			delete(m.children, name)
			e.end()
		}
	}
	m.err = nil
	next := &routePicker{cluster: m.config.Cluster, where: m.env.State.Where, route: m.env.State.Route}
	if same && m.picker != nil {
		next.children = m.picker.children
	} else {
		next.children = make(map[string]*slot, len(m.children))
		for name, e := range m.children {
			next.children[name] = e.slot
		}
	}
	m.picker = next
}

// subscribe keeps the configured cluster in the configuration. Calls wait for the cluster until the
// configuration has it (A74).
func (m *manager) subscribe() {
	if m.unsubscribe == nil && m.env.State.Subscriber != nil {
		m.unsubscribe = m.env.State.Subscriber.Subscribe(m.config.Cluster)
	}
}

// publish reports the newest state to the channel, if it has changed.
func (m *manager) publish() {
	if !m.changed {
		return
	}
	m.changed = false
	if m.err != nil {
		m.env.Conn.UpdateState(lbtree.Failure(m.err))
		return
	}
	m.env.Conn.UpdateState(balancer.State{ConnectivityState: m.state(), Picker: m.picker})
}

// state returns the connectivity state of the channel.
func (m *manager) state() connectivity.State {
	if m.err != nil {
		return connectivity.TransientFailure
	}
	var tally lbtree.Tally
	for _, e := range m.children {
		tally.Add(e.state.ConnectivityState)
	}
	return tally.State()
}

// fail makes all calls fail until there is a state.
func (m *manager) fail(err error) {
	m.err, m.changed = err, true
}

// ResolverError implements [balancer.Balancer]. An existing configuration stays in use.
func (m *manager) ResolverError(err error) {
	m.env.Loop.Post(func() {
		if m.env.State == nil {
			m.fail(fmt.Errorf("resolver: %v", err)) //nolint:errorlint // A54
		}
	})
}

// UpdateSubConnState implements [balancer.Balancer]. gRPC does not call it, because subchannels
// have listeners.
func (m *manager) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle implements [balancer.Balancer].
func (m *manager) ExitIdle() {
	m.env.Loop.Post(m.exitIdle)
}

// Close implements [balancer.Balancer].
func (m *manager) Close() {
	m.env.Loop.Close(func() {
		for _, e := range m.children {
			e.end()
		}
		if m.unsubscribe != nil {
			m.unsubscribe()
		}
		if m.unlist != nil {
			m.unlist()
		}
	})
}
