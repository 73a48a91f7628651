package clustermanager

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"

	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/clusterimpl"
	"github.com/xdsforge/xdsforge/internal/dataplane/balancer/node"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
)

var (
	errUnknown   = errors.New("not in the configuration")
	errNoCluster = errors.New("LB policy " + Name + `: cluster = ""; must be set below the LB policy of a cluster specifier plugin`)
	errNoState   = errors.New("LB policy " + Name + ": there is no xDS configuration; must be used with the resolver of grpcxds")
)

// A manager is the policy of one channel. Its loop owns all fields, unless noted otherwise.
type manager struct {
	loop     *serial.Loop
	cc       balancer.ClientConn
	around   *clusterimpl.Around // nil before the first state
	options  balancer.BuildOptions
	breakers *breaker.Set // used if the state has none
	// config is the policy's own configuration.
	config  *config
	release func() // releases the configured cluster; nil: it is not held

	children map[string]*entry
	picker   *picker // without children, of err
	err      error
	// changed says that the channel does not have the newest state.
	changed bool
}

func newManager(cc balancer.ClientConn, options balancer.BuildOptions) *manager {
	m := &manager{cc: cc, options: options, breakers: new(breaker.Set), config: new(config), children: make(map[string]*entry)}
	m.loop = serial.New(m.publish)
	return m
}

// UpdateClientConnState implements [balancer.Balancer]. When it returns, calls can be sent to the
// clusters of the state.
func (m *manager) UpdateClientConnState(s balancer.ClientConnState) error {
	state := xdsconfig.From(s.ResolverState.Attributes)
	if state == nil || state.Config == nil {
		m.ResolverError(errNoState)
		return errNoState
	}
	var err error
	m.loop.Do(func() {
		if c, ok := s.BalancerConfig.(*config); ok {
			m.config = c
		}
		if m.config.Cluster == "" && chosen(s.ResolverState.Attributes) {
			err = errNoCluster
			m.fail(err)
			return
		}
		var server *bootstrap.Server
		if server, err = m.reportingServer(state); err != nil {
			m.fail(err)
			return
		}
		if m.around == nil {
			m.around = &clusterimpl.Around{Loop: m.loop, Conn: m.cc, Options: m.options}
		}
		m.around.State, m.around.Attributes = m.complete(state, server), s.ResolverState.Attributes
		m.update()
		if state.Connect {
			m.exitIdle()
		}
	})
	return err
}

// reportingServer returns the server for load reports in the configuration, or nil if there is
// none.
func (m *manager) reportingServer(state *xdsconfig.State) (*bootstrap.Server, error) {
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
func (m *manager) complete(state *xdsconfig.State, server *bootstrap.Server) *xdsconfig.State {
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
	c := m.around.State.Config
	targets := make(map[string]bool, len(c.Targets)+len(c.Plugins))
	if m.config.Cluster != "" {
		targets[m.config.Cluster] = true
		m.hold()
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
		m.tell(e)
	}
	for name, e := range m.children {
		if !targets[name] {
			delete(m.children, name)
			e.close()
		}
	}
	m.err = nil
	if same && m.picker != nil {
		m.picker = newPicker(m.config.Cluster, m.around.State, m.picker.children)
		return
	}
	slots := make(map[string]*slot, len(m.children))
	for name, e := range m.children {
		slots[name] = e.slot
	}
	m.picker = newPicker(m.config.Cluster, m.around.State, slots)
}

// hold keeps the configured cluster in the configuration. Calls wait for the cluster until the
// configuration has it (A74).
func (m *manager) hold() {
	if m.release == nil && m.around.State.Holder != nil {
		m.release = m.around.State.Holder.Hold(m.config.Cluster)
	}
}

// publish reports the newest state to the channel, if it has changed.
func (m *manager) publish() {
	if !m.changed {
		return
	}
	m.changed = false
	if m.err != nil {
		m.cc.UpdateState(node.Failure(m.err))
		return
	}
	var tally node.Tally
	for _, e := range m.children {
		tally.Add(e.state.ConnectivityState)
	}
	m.cc.UpdateState(balancer.State{ConnectivityState: tally.State(), Picker: m.picker})
}

// fail makes all calls fail until there is a state.
func (m *manager) fail(err error) {
	m.err, m.changed = err, true
}

// ResolverError implements [balancer.Balancer]. An existing configuration stays in use.
func (m *manager) ResolverError(err error) {
	m.loop.Post(func() {
		if m.around == nil {
			m.fail(fmt.Errorf("resolver: %v", err)) //nolint:errorlint // A54
		}
	})
}

// UpdateSubConnState implements [balancer.Balancer]. gRPC does not call it, because subchannels
// have listeners.
func (m *manager) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle implements [balancer.Balancer].
func (m *manager) ExitIdle() {
	m.loop.Post(func() {
		m.exitIdle()
	})
}

// Close implements [balancer.Balancer].
func (m *manager) Close() {
	m.loop.Close(func() {
		for _, e := range m.children {
			e.close()
		}
		if m.release != nil {
			m.release()
		}
	})
}
