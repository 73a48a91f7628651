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

// onProcessors measures the subscriptions of our client on two processors and on one.
func onProcessors(ctx context.Context, srv *server, n int) (two, one time.Duration, err error) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	return takeTurns(2, 1, func(processors, _ int) (time.Duration, error) {
		runtime.GOMAXPROCS(processors)
		return startUp(ctx, srv, ours, n)
	})
}

// changes is how many changes one measurement takes together.
const changes = 20

// A change is an action of the control plane, and the sign by which a client has seen it.
type change struct {
	name    string
	command func(i int) error
	first   int // the watcher of resource 0; -1: none is told
	bound   float64
	silent  bool // the client hears nothing of it
}

// each measures a change for a client that watches everything.
func each(ctx context.Context, srv *server, k kind, n int, delta bool, c change) (time.Duration, error) {
	s, err := newSubject(ctx, k, srv.addr, n, delta)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	if err := s.settled(ctx, k, srv); err != nil {
		return 0, err
	}
	if k == nothing {
		c.first = -1
	}
	return median(5, func(round int) (time.Duration, error) {
		runtime.GC()
		before := process.CPU()
		for i := range changes {
			at := 1 + round*changes + i
			told := uint32(0)
			if c.first >= 0 {
				told = s.got[c.first+at].Load()
			}
			if err := c.command(at); err != nil {
				return 0, err
			}
			if c.first >= 0 {
				if err := s.await(ctx, c.first+at, c.first+at+1, told); err != nil {
					return 0, err
				}
			}
			if c.silent {
				continue
			}
			if err := s.answered(ctx); err != nil {
				return 0, err
			}
		}
		return (process.CPU() - before) / changes, nil
	})
}

func changeRows(ctx context.Context) (rows []Row, err error) {
	const n = 10_000
	err = within(ctx, n, func(ctx context.Context, srv *server) error {
		for _, c := range []change{
			{"one cluster of 10000 changes", func(i int) error { return srv.touch(resourcev3.ClusterType, i) }, 0, 0.72, false},
			{"one assignment of 10000 changes, all sent", func(i int) error { return srv.touch(resourcev3.EndpointType, i) }, n, 0.72, false},
			{"the same 10000 assignments again", func(int) error { return srv.Call("Again", resourcev3.EndpointType, nil) }, -1, 0.72, false},
		} {
			spent := make(map[kind]time.Duration)
			for _, k := range []kind{ours, skipping, nothing} {
				var err error
				if spent[k], err = each(ctx, srv, k, n, false, c); err != nil {
					return err
				}
			}
			rows = append(rows, Row{
				Name: c.name, Unit: "ms", Bound: c.bound, Beside: "skipping",
				Ours: milliseconds(spent[ours]), Peer: milliseconds(spent[skipping]), Floor: milliseconds(spent[nothing]),
			})
		}
		return nil
	})
	return rows, err
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
