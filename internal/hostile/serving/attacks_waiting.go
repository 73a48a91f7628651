package main

import (
	"fmt"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// waitingAttacks are attacks by requests that wait, and by the memory that a server keeps for many streams.
func waitingAttacks() []attack {
	few := scene{clusters: 10}
	return []attack{
		{name: "initial versions: 500,000 empty ones, 20 streams at once", scene: few, budget: client, run: func(a *attacker) error {
			m := join(wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, "a"), wire.Repeated(500_000, func(int) []byte { return wire.Field(deltaInitial) }))
			return a.atOnce(20, delta, m, m)
		}},
		{name: "initial versions: 2,000,000 empty ones, 20 streams at once", scene: few, budget: client, ends: "Limits.InitialVersions", run: func(a *attacker) error {
			m := join(wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, "a"), wire.Repeated(2_000_000, func(int) []byte { return wire.Field(deltaInitial) }))
			return a.atOnce(20, delta, m)
		}},
		{name: "requests: 4 MiB, 50 streams at once", scene: few, budget: 50*request + stream, run: func(a *attacker) error {
			return a.atOnce(50, delta, deltaOf(full(deltaRemove, 8000, 0)))
		}},
		{name: "versions: a revision of the future, 10,000 streams", scene: few, budget: 10_000 * streamMemory, run: func(a *attacker) error {
			m := join(wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, "a"), wire.Field(deltaInitial, wire.Text(1, "a"), wire.Text(2, "zzzzzz-0123456789abcdef")))
			a.begin()
			return a.openMany(10_000, delta, m, 3*settling)
		}},
		{name: "types: all of 3,000 streams", scene: few, budget: 3000 * 2 * streamMemory, run: func(a *attacker) error {
			list := make([][]byte, 0, len(servedTypes()))
			for _, url := range servedTypes() {
				list = append(list, join(wire.Text(deltaURL, prefix+url), wire.Text(deltaAdd, "a")))
			}
			a.begin()
			var last *call
			var cc *grpc.ClientConn
			for i := range 3000 {
				var err error
				if i%1000 == 0 {
					if cc, err = a.connect(); err != nil {
						return err
					}
				}
				if last, err = a.openOn(cc, delta); err != nil {
					return err
				}
				for _, m := range list {
					last.send(m)
				}
			}
			return last.settle(settling)
		}},
	}
}

// unreadAttacks are attacks by responses that nobody reads, and by the nodes of load reports.
func unreadAttacks() []attack {
	few := scene{clusters: 10}
	return []attack{
		{name: "load: 400 streams with nodes of 250 KiB", scene: scene{clusters: 10, load: true}, budget: client, run: func(a *attacker) error {
			m := wire.Field(loadNode, wire.Field(3, wire.Field(1, wire.Text(1, "a"), wire.Field(2, wire.Field(6, wire.Repeated(120_000, func(int) []byte { return wire.Field(1) }))))))
			return a.atOnce(400, reports, m)
		}},
		{name: "load: answers of 1 MiB that nobody reads, 60 streams", scene: scene{clusters: 10, load: true}, budget: client, run: func(a *attacker) error {
			m := wire.Repeated(130, func(i int) []byte { return reportOf(fmt.Sprintf("%08000d", i)) })
			return a.unreadStreams(60, reports, m)
		}},
		{name: "removals: 3 MiB that nobody reads, 35 streams", scene: few, budget: client, run: func(a *attacker) error {
			m := deltaOf(wire.Text(deltaAdd, "*"), wire.Repeated(400, func(i int) []byte { return initial(fmt.Sprintf("%08000d", i)) }))
			return a.unreadStreams(35, delta, m)
		}},
		{name: "load: reports of 99,000 localities, 50 streams at once", scene: scene{clusters: 10, load: true}, budget: 50*request/4 + client, run: func(a *attacker) error {
			return a.atOnce(50, reports, reportOf("c", wire.Repeated(99_000, func(int) []byte { return wire.Field(statsLocalities) })))
		}},
	}
}

// atOnce sends messages on n streams at the same time, and settles one of them.
func (a *attacker) atOnce(n int, method string, messages ...[]byte) error {
	a.begin()
	calls := make([]*call, 0, n)
	for range n {
		c, err := a.open(method)
		if err != nil {
			return err
		}
		c.read()
		calls = append(calls, c)
	}
	done := make(chan struct{}, n)
	for _, c := range calls {
		go func() {
			for _, m := range messages {
				c.send(m)
			}
			done <- struct{}{}
		}()
	}
	for range calls {
		<-done
	}
	return calls[0].settle(3 * settling)
}

// unreadStreams sends a message on n streams that do not read, and settles the last one.
func (a *attacker) unreadStreams(n int, method string, m []byte) error {
	a.begin()
	var last *call
	for range n {
		c, err := a.open(method, small()...)
		if err != nil {
			return err
		}
		c.send(m)
		last = c
	}
	if err := settle(); err != nil {
		return err
	}
	return last.settle(settling)
}

// servedTypes are types that xdsd serves.
func servedTypes() []string {
	return []string{
		"envoy.config.cluster.v3.Cluster", "envoy.config.endpoint.v3.ClusterLoadAssignment", "envoy.config.listener.v3.Listener",
		"envoy.config.route.v3.RouteConfiguration", "envoy.config.route.v3.ScopedRouteConfiguration", "envoy.config.route.v3.VirtualHost",
		"envoy.extensions.transport_sockets.tls.v3.Secret", "envoy.service.runtime.v3.Runtime", "envoy.config.core.v3.TypedExtensionConfig",
		"envoy.config.cluster.v3.ClusterCollection", "envoy.config.listener.v3.ListenerCollection", "envoy.config.endpoint.v3.LbEndpointCollection",
	}
}
