package main

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// repeatAttacks are attacks that do the same again and again, each time for few bytes.
func repeatAttacks() []attack { return slices.Concat(againAttacks(), turnAttacks()) }

// againAttacks subscribe to the same collections again and again.
func againAttacks() []attack {
	few, many := scene{clusters: 10}, scene{clusters: 20_000}
	wildcard := deltaOf(wire.Text(deltaAdd, "*"))
	return []attack{
		sends("wildcard: 100,000 times in one request", many, stream, "", delta, func() [][]byte {
			return [][]byte{wildcard, deltaOf(wire.Repeated(100_000, func(int) []byte { return wire.Text(deltaAdd, "*") }))}
		}),
		sends("wildcard: 5,000 requests", many, stream, "", delta, func() [][]byte { return turns(5000, wildcard) }),
		sends("wildcard: 5,000 requests that repeat the first one, whole", many, stream, "", whole, func() [][]byte {
			return turns(5000, wire.Text(wholeURL, clusterURL))
		}),
		sends("globs: 9,000 spellings of 40", few, stream, "", delta, func() [][]byte {
			return [][]byte{deltaOf(wire.Repeated(9000, func(i int) []byte {
				return wire.Text(deltaAdd, fmt.Sprintf("xdstp:///envoy.config.cluster.v3.Cluster/a%s/*", strings.Repeat("%62", i%40)))
			}))}
		}),
		{name: "wildcard: two clients in turn, 20,000 resources", scene: many, budget: 2 * stream, run: func(a *attacker) error {
			a.begin()
			for range 20 {
				for _, from := range []string{"127.0.0.2", "127.0.0.3"} {
					cc, err := a.connect(grpc.WithContextDialer(dialFrom(from)))
					if err != nil {
						return err
					}
					c, err := a.openOn(cc, delta)
					if err != nil {
						return err
					}
					c.send(wildcard)
					if _, err := c.response(); err != nil {
						return err
					}
					go func() { _ = cc.Close() }()
				}
			}
			return settle()
		}},
		sends("wildcard and 99,990 names, the wildcard 20 times in turn", many, stream, "", delta, func() [][]byte {
			return append([][]byte{deltaOf(names(deltaAdd, 99_990, "cluster-with-a-name-%06d"))},
				turns(20, wildcard, deltaOf(wire.Text(deltaRemove, "*")))...)
		}),
	}
}

// turnAttacks subscribe to other names or streams in turn.
func turnAttacks() []attack {
	few, many := scene{clusters: 10}, scene{clusters: 20_000}
	wildcard := deltaOf(wire.Text(deltaAdd, "*"))
	return []attack{
		{name: "names: 80 MiB in turn with others, a stream that does not read", scene: few, budget: stream, run: func(a *attacker) error {
			list := make([][]byte, 0, 20)
			for i := range 20 {
				list = append(list, join(wire.Text(deltaURL, clusterURL), half(deltaAdd, i), half(deltaRemove, i-1)))
			}
			a.begin()
			c, err := a.open(delta, small()...)
			if err != nil {
				return err
			}
			for _, m := range list {
				c.send(m)
			}
			return settle()
		}},
		{name: "wildcard: 500 requests for a type without resources, beside 699,930 names", scene: few, budget: client, run: func(a *attacker) error {
			messages := make([][]byte, 0, 7)
			for i := range 7 {
				messages = append(messages, join(wire.Text(deltaURL, routeURL), names(deltaAdd, 99_990, fmt.Sprint(i, "-")+"%d")))
			}
			a.begin()
			for _, m := range messages {
				c, err := a.open(delta)
				if err != nil {
					return err
				}
				c.read()
				c.send(m)
			}
			if err := settle(); err != nil {
				return err
			}
			c, err := a.open(delta)
			if err != nil {
				return err
			}
			c.read()
			for range 500 {
				c.send(join(wire.Text(deltaURL, routeURL), wire.Text(deltaAdd, "*")))
			}
			return c.settle(3 * settling)
		}},
		{name: "wildcard: 300 streams opened and canceled, 20,000 resources", scene: many, budget: stream, run: func(a *attacker) error {
			a.begin()
			cc, err := a.connect()
			if err != nil {
				return err
			}
			for range 300 {
				ctx, cancel := context.WithCancel(context.Background())
				s, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, delta)
				if err == nil {
					_ = s.SendMsg(wildcard) // the server may end the connection
					var b []byte
					_ = s.RecvMsg(&b)
				}
				cancel()
			}
			return settle()
		}},
		{name: "names: 19,000 of 20,000 clusters in turn, by 2 streams, whole", scene: many, budget: 2*stream + 40*request, run: func(a *attacker) error {
			list := make([][]byte, 0, 20)
			for i := range 20 {
				list = append(list, join(wire.Text(wholeURL, clusterURL), wire.Repeated(19_000, func(k int) []byte {
					return wire.Text(wholeNames, fmt.Sprintf("cluster-with-a-name-%06d", k+i))
				})))
			}
			a.begin()
			var calls [2]*call
			for i := range calls {
				c, err := a.open(whole)
				if err != nil {
					return err
				}
				c.read()
				calls[i] = c
			}
			for _, m := range list {
				for _, c := range calls {
					c.send(m)
				}
			}
			return calls[0].settle(settling)
		}},
	}
}

func deltaOf(fields ...[]byte) []byte {
	return join(append([][]byte{wire.Text(deltaURL, clusterURL)}, fields...)...)
}

// half are numbered names of 8,000 bytes that fill half a request.
func half(field protowire.Number, from int) []byte {
	return wire.Repeated(255, func(i int) []byte { return wire.Text(field, fmt.Sprintf("%08000d", 1000*from+i)) })
}

// dialFrom dials from an address of the attacker.
func dialFrom(ip string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, to string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		return d.DialContext(ctx, "tcp", to)
	}
}
