package xdsconfig

import (
	"errors"
	"fmt"
	"net/url"

	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"

	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// A dnsNode is the name of a LOGICAL_DNS cluster (A37). It is the resolver.ClientConn of gRPC's
// resolver.
type dnsNode struct {
	mark
	watcher *Watcher
	target  string
	done    chan struct{}
	again   chan struct{} // has an element when the name must be resolved again

	// Guarded by the Watcher's lock.
	known      bool
	localities []endpoint.Locality
	err        error // the newest error
	version    uint64
}

func (w *Watcher) meetName(target string) *dnsNode {
	n, ok := w.nodes.names[target]
	if !ok {
		n = &dnsNode{watcher: w, target: target, done: make(chan struct{}), again: make(chan struct{}, 1)}
		w.nodes.names[target] = n
		w.dns.Go(n.run)
	}
	n.seen = w.turn
	return n
}

// run runs the resolver. The resolver may call back within Build and Close, so run does not hold
// the Watcher's lock.
func (n *dnsNode) run() {
	target := resolver.Target{URL: url.URL{Scheme: "dns", Path: "/" + n.target}}
	r, err := n.watcher.options.DNS.Build(target, n, resolver.BuildOptions{DisableServiceConfig: true})
	if err != nil {
		n.ReportError(err)
		return
	}
	defer r.Close()
	for {
		select {
		case <-n.done:
			return
		case <-n.again:
			r.ResolveNow(resolver.ResolveNowOptions{})
		}
	}
}

func (n *dnsNode) stop() { close(n.done) }

func (n *dnsNode) resolveNow() {
	select {
	case n.again <- struct{}{}:
	default:
	}
}

// UpdateState implements [resolver.ClientConn]. All addresses become one endpoint with the name as
// its hostname (A37, A61, A81).
func (n *dnsNode) UpdateState(s resolver.State) error {
	var addresses []string
	for _, e := range s.Endpoints {
		for _, a := range e.Addresses {
			addresses = append(addresses, a.Addr)
		}
	}
	if len(s.Endpoints) == 0 {
		for _, a := range s.Addresses {
			addresses = append(addresses, a.Addr)
		}
	}
	if len(addresses) == 0 {
		err := errors.New("has no address")
		n.ReportError(err)
		return err
	}
	e := endpoint.New(addresses...)
	e.Health, e.Hostname = endpoint.HealthHealthy, n.target
	n.tell([]endpoint.Locality{{Weight: 1, Endpoints: []endpoint.Endpoint{e}}}, nil)
	return nil
}

// ReportError implements [resolver.ClientConn]. The last addresses stay in use.
func (n *dnsNode) ReportError(err error) {
	n.watcher.mu.Lock()
	localities := n.localities
	n.watcher.mu.Unlock()
	n.tell(localities, fmt.Errorf("name %s: %w [node %s]",
		printable.Quote(n.target, printable.Short), printable.Error(err), n.watcher.options.NodeID))
}

func (n *dnsNode) tell(localities []endpoint.Locality, err error) {
	w := n.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	n.known, n.localities, n.err = true, localities, err
	w.version++
	n.version = w.version
	w.signal()
}

// NewAddress implements [resolver.ClientConn].
func (n *dnsNode) NewAddress(addresses []resolver.Address) {
	_ = n.UpdateState(resolver.State{Addresses: addresses})
}

// ParseServiceConfig implements [resolver.ClientConn].
func (*dnsNode) ParseServiceConfig(string) *serviceconfig.ParseResult { return nil }
