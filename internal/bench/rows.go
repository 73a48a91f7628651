package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"

	"github.com/xdsforge/xdsforge/internal/process"
)

func measurements() []measurement {
	return []measurement{
		{"subscribe", subscribeRows},
		{"change, state of the world", changeRows},
		{"change, delta", deltaRows},
		{"cancel", cancelRow},
		{"memory", memoryRow},
		{"pace", paceRows},
		{"processors", processorsRow},
		{"lookup", lookupRow},
		{"decode", decodeRows},
		{"tree", treeRows},
	}
}

// within runs f with a control plane that has n clusters and n assignments.
func within(ctx context.Context, n int, f func(ctx context.Context, srv *server) error) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	srv, err := startServer(ctx, n)
	if err != nil {
		return err
	}
	defer srv.Stop()
	return f(ctx, srv)
}

func subscribeRows(ctx context.Context) (rows []Row, err error) {
	var first float64 // time for a resource, where there are fewer
	for _, n := range []int{10_000, 50_000} {
		mine, peer, err := subscribe(ctx, n)
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row{
			Name: fmt.Sprintf("subscribe to %d + %d, all told", n, n), Unit: "ms", Bound: 0.6,
			Ours: milliseconds(mine), Peer: milliseconds(peer), Beside: "minimal",
		})
		each := 1000 * milliseconds(mine) / float64(2*n)
		if first == 0 {
			first = each
			continue
		}
		rows = append(rows, Row{Name: "  each of them", Unit: "us", Ours: each, Peer: first, Beside: "at 10000", Bound: 1})
	}
	return rows, nil
}

// subscribe measures subscriptions to n clusters and n assignments, until all are told.
func subscribe(ctx context.Context, n int) (mine, peer time.Duration, err error) {
	err = within(ctx, n, func(ctx context.Context, srv *server) (err error) {
		mine, peer, err = takeTurns(ours, plain, func(k kind, _ int) (time.Duration, error) { return startUp(ctx, srv, k, n) })
		return err
	})
	return mine, peer, err
}

// startUp measures the subscriptions of one client.
func startUp(ctx context.Context, srv *server, k kind, n int) (time.Duration, error) {
	return spent(func() error {
		s, err := newSubject(ctx, k, srv.addr, n, false)
		if err != nil {
			return err
		}
		defer s.stop()
		return s.await(ctx, 0, 2*n, 0)
	})
}

// onProcessors measures the subscriptions of one client on two processors and on one.
func onProcessors(ctx context.Context, srv *server, k kind, n int) (two, one time.Duration, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	return takeTurns(2, 1, func(processors, _ int) (time.Duration, error) {
		runtime.GOMAXPROCS(processors)
		return startUp(ctx, srv, k, n)
	})
}

// changes is how many changes one measurement takes together.
const changes = 20

// warming is the number of changes before the measured ones. They fill caches.
const warming = 3

// A change is an action of the control plane, and the sign by which a client has seen it.
type change struct {
	name    string
	command func(srv *server, i int) error
	first   int  // the watcher of resource 0; -1: none is told
	silent  bool // the client hears nothing of it
}

// touched is the change of one resource of a type.
func touched(url string) func(*server, int) error {
	return func(srv *server, i int) error { return srv.touch(url, i) }
}

// again is a new version of a type whose resources have not changed.
func again(url string) func(*server, int) error {
	return func(srv *server, _ int) error { return srv.Call("Again", url, nil) }
}

// A watching is a client that watches everything, with a control plane of its own.
type watching struct {
	*subject

	srv *server
	k   kind
}

// watch starts a client with a control plane of its own, and calls f when it has nothing to do.
func watch(ctx context.Context, k kind, n int, delta bool, f func(ctx context.Context, w watching) error) error {
	return within(ctx, n, func(ctx context.Context, srv *server) error {
		s, err := newSubject(ctx, k, srv.addr, n, delta)
		if err != nil {
			return err
		}
		defer s.stop()
		if err := s.settled(ctx, k, srv); err != nil {
			return err
		}
		return f(ctx, watching{s, srv, k})
	})
}

// beside is [watch] for two clients. They can take turns without the cost of their start.
func beside(ctx context.Context, n int, delta bool, a, b kind, f func(ctx context.Context, clients map[kind]watching) error) error {
	return watch(ctx, a, n, delta, func(ctx context.Context, first watching) error {
		return watch(ctx, b, n, delta, func(ctx context.Context, second watching) error {
			return f(ctx, map[kind]watching{a: first, b: second})
		})
	})
}

// see measures a change. Every turn changes other resources.
func (w watching) see(ctx context.Context, turn int, c change) (time.Duration, error) {
	runtime.GC()
	var before time.Duration
	for i := range warming + changes {
		if i == warming {
			before = process.CPU()
		}
		if err := w.seeOne(ctx, 1+turn*(warming+changes)+i, c); err != nil {
			return 0, err
		}
	}
	return (process.CPU() - before) / changes, nil
}

func (w watching) seeOne(ctx context.Context, i int, c change) error {
	tells := c.first >= 0 && w.k != nothing
	told := uint32(0)
	if tells {
		told = w.got[c.first+i].Load()
	}
	if err := c.command(w.srv, i); err != nil {
		return err
	}
	if tells {
		if err := w.await(ctx, c.first+i, c.first+i+1, told); err != nil {
			return err
		}
	}
	if c.silent {
		return nil
	}
	return w.answered(ctx)
}

func changeRows(ctx context.Context) (rows []Row, err error) {
	const n = 10_000
	all := []change{
		{"one cluster of 10000 changes", touched(resourcev3.ClusterType), 0, false},
		{"one assignment of 10000 changes, all sent", touched(resourcev3.EndpointType), n, false},
		{"the same 10000 assignments again", again(resourcev3.EndpointType), -1, false},
	}
	err = beside(ctx, n, false, ours, skipping, func(ctx context.Context, clients map[kind]watching) error {
		for _, c := range all {
			mine, peer, err := takeTurns(ours, skipping, func(k kind, turn int) (time.Duration, error) { return clients[k].see(ctx, turn, c) })
			if err != nil {
				return err
			}
			rows = append(rows, Row{
				Name: c.name, Unit: "ms", Bound: 0.72, Beside: "skipping", Ours: milliseconds(mine), Peer: milliseconds(peer),
			})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return rows, watch(ctx, nothing, n, false, func(ctx context.Context, floor watching) error {
		for i, c := range all {
			least, err := median(turns, func(turn int) (time.Duration, error) { return floor.see(ctx, turn, c) })
			if err != nil {
				return err
			}
			rows[i].Floor = milliseconds(least)
		}
		return nil
	})
}

func cancelRow(ctx context.Context) ([]Row, error) {
	const n = 5_000
	spentBy := make(map[kind]time.Duration)
	err := within(ctx, n, func(ctx context.Context, srv *server) error {
		for _, k := range []kind{ours, plain} {
			var err error
			spentBy[k], err = median(3, func(int) (time.Duration, error) {
				s, err := newSubject(ctx, k, srv.addr, n, false)
				if err != nil {
					return 0, err
				}
				defer s.stop()
				if err := s.await(ctx, 0, 2*n, 0); err != nil {
					return 0, err
				}
				settle := time.NewTimer(300 * time.Millisecond)
				<-settle.C
				s.drain()
				runtime.GC()
				before := process.CPU()
				s.cancel()
				settle.Reset(300 * time.Millisecond) // for the remaining work of the loop
				<-settle.C
				return process.CPU() - before, nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	return []Row{{Name: "10000 watches cancelled", Unit: "ms", Ours: milliseconds(spentBy[ours]), Peer: milliseconds(spentBy[plain]), Beside: "minimal", Bound: 10}}, err
}

func memoryRow(ctx context.Context) (rows []Row, err error) {
	const n = 10_000
	err = within(ctx, n, func(ctx context.Context, srv *server) error {
		before := process.Memory().HeapAlloc
		s, err := newSubject(ctx, ours, srv.addr, n, false)
		if err != nil {
			return err
		}
		defer s.stop()
		if err := s.await(ctx, 0, 2*n, 0); err != nil {
			return err
		}
		settle := time.NewTimer(500 * time.Millisecond)
		<-settle.C
		kept := float64(process.Memory().HeapAlloc-before) / (2 * n)
		rows = []Row{{Name: "heap kept for a resource and its watcher", Unit: "B", Ours: kept, Bound: 1250}}
		runtime.KeepAlive(s)
		return nil
	})
	return rows, err
}
