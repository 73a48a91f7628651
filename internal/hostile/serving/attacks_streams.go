package main

import (
	"context"
	"net"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"

	"github.com/xdsforge/xdsforge/internal/hostile/wire"
)

// streamMemory is the memory that gRPC and the server keep for an open stream. Limits.ClientStreams bounds the streams.
const streamMemory = 32 << 10

// streamAttacks are attacks by streams and connections.
func streamAttacks() []attack {
	few := scene{clusters: 10}
	subscribe := subscription()
	return []attack{
		{name: "streams: 5,000 without a request", scene: few, budget: 5000 * streamMemory, ends: "FirstRequest", run: func(a *attacker) error {
			a.begin()
			return a.openMany(5000, delta, nil, 12*time.Second)
		}},
		{name: "streams: 20,000", scene: few, budget: 20_000 * streamMemory, run: func(a *attacker) error {
			a.begin()
			return a.openMany(20_000, delta, subscribe, settling)
		}},
		{name: "streams: more than 20,000", scene: few, budget: 20_000 * streamMemory, ends: "Limits.ClientStreams", run: func(a *attacker) error {
			a.begin()
			return a.openMany(20_100, delta, subscribe, settling)
		}},
		{name: "streams: 20,000 opened and canceled", scene: few, budget: stream, run: func(a *attacker) error {
			a.begin()
			cc, err := a.connect()
			if err != nil {
				return err
			}
			for range 20_000 {
				ctx, cancel := context.WithCancel(context.Background())
				s, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, delta)
				if err == nil {
					_ = s.SendMsg(subscribe) // the server may end the connection
					a.wire.Add(int64(len(subscribe)))
				}
				cancel()
			}
			return settle()
		}},
		{name: "headers: 200 streams with 1 MiB each", scene: few, budget: request, run: func(a *attacker) error {
			value := strings.Repeat("x", 1<<20)
			a.begin()
			for range 200 {
				cc, err := a.connect(grpc.WithMaxHeaderListSize(1 << 26))
				if err != nil {
					return err
				}
				ctx := metadata.AppendToOutgoingContext(context.Background(), "x-large", value)
				s, err := cc.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, delta)
				if err == nil {
					_ = s.SendMsg(subscribe) // the server may end the connection
				}
				a.wire.Add(int64(len(value)))
			}
			return settle()
		}},
		{name: "compression: 512 MiB in a request", scene: few, budget: 2 * request, ends: "not installed", run: func(a *attacker) error {
			m := make([]byte, 1<<29)
			a.begin()
			cc, err := a.connect(grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
			if err != nil {
				return err
			}
			c, err := a.openOn(cc, delta)
			if err != nil {
				return err
			}
			c.send(m)
			return c.settle(5 * settling)
		}},
		connections("connections: 3,000 without a byte", func(a *attacker) string { return a.ADS }, ""),
		connections("connections: 3,000 with a part of the preface", func(a *attacker) string { return a.ADS }, "PRI * HTTP/2.0\r\n"),
	}
}

// connectionMemory is the memory of a connection before its first request.
const connectionMemory = 96 << 10

// connections returns an attack that opens connections and sends a text on each.
func connections(name string, to func(*attacker) string, first string) attack {
	return attack{name: name, scene: scene{clusters: 10}, budget: 3000 * connectionMemory / 2, run: func(a *attacker) error {
		a.begin()
		list := make([]net.Conn, 0, 3000)
		for range 3000 {
			c, err := dial(context.Background(), to(a))
			if err != nil {
				return err
			}
			if _, err := c.Write([]byte(first)); err != nil {
				break // the server has ended it
			}
			a.wire.Add(int64(len(first)))
			list = append(list, c)
		}
		err := settle()
		for _, c := range list {
			_ = c.Close()
		}
		return err
	}}
}

// openMany opens streams on few connections, with or without a request, and settles the last one.
func (a *attacker) openMany(n int, method string, first []byte, wait time.Duration) error {
	var last *call
	var cc *grpc.ClientConn
	for i := range n {
		if i%1000 == 0 {
			var err error
			if cc, err = a.connect(); err != nil {
				return err
			}
		}
		c, err := a.openOn(cc, method)
		if err != nil {
			return err
		}
		c.read()
		if first != nil {
			c.send(first)
		}
		last = c
	}
	return last.settle(wait)
}

// subscription subscribes to a name.
func subscription() []byte { return join(wire.Text(deltaURL, clusterURL), wire.Text(deltaAdd, "a")) }
