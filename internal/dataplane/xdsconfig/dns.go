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

// A dnsWatch is the watched name of a LOGICAL_DNS cluster (A37). It is the resolver.ClientConn of
// gRPC's resolver.
type dnsWatch struct {
	state
	watcher    *Watcher
	target     string
	done       chan struct{}
	again      chan struct{}       // has an element when the name must be resolved again
	localities []endpoint.Locality // guarded by the Watcher's lock
}

// watchName finds or starts the watch of a DNS name.
func (w *Watcher) watchName(target string) *dnsWatch {
	n, ok := w.watches.names[target]
	if !ok {
		n = &dnsWatch{watcher: w, target: target, done: make(chan struct{}), again: make(chan struct{}, 1)}
		n.stop = func() { close(n.done) }
		w.watches.names[target] = n
		w.dns.Go(n.run)
	}
	n.reached = w.traversals
	return n
}

// run runs the resolver. The resolver may call back within Build and Close, so run does not hold
// the Watcher's lock.
func (n *dnsWatch) run() {
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

func (n *dnsWatch) resolveNow() {
	select {
	case n.again <- struct{}{}:
	default:
	}
}

// UpdateState implements [resolver.ClientConn]. All addresses become one endpoint with the name as
// its hostname (A37, A61, A81).
func (n *dnsWatch) UpdateState(s resolver.State) error {
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
	e := endpoint.New(addresses[0])
	e.Health = endpoint.HealthHealthy
	e.Details = &endpoint.Details{AdditionalAddresses: addresses[1:], Hostname: n.target}
	n.set([]endpoint.Locality{{Weight: 1, Endpoints: []endpoint.Endpoint{e}}}, nil)
	return nil
}

// ReportError implements [resolver.ClientConn]. The last addresses stay in use.
func (n *dnsWatch) ReportError(err error) {
	n.watcher.mu.Lock()
	localities := n.localities
	n.watcher.mu.Unlock()
	n.set(localities, fmt.Errorf("name %s: %w [node %s]",
		printable.Quote(n.target, printable.Short), printable.Error(err), n.watcher.options.NodeID))
}

func (n *dnsWatch) set(localities []endpoint.Locality, err error) {
	w := n.watcher
	w.mu.Lock()
	defer w.mu.Unlock()
	n.known, n.localities, n.err = true, localities, err
	w.version++
	n.version = w.version
	w.signal()
}

// NewAddress implements [resolver.ClientConn].
func (n *dnsWatch) NewAddress(addresses []resolver.Address) {
	_ = n.UpdateState(resolver.State{Addresses: addresses})
}

// ParseServiceConfig implements [resolver.ClientConn].
func (*dnsWatch) ParseServiceConfig(string) *serviceconfig.ParseResult { return nil }
