package main

import (
	"context"
	"fmt"
	"time"

	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
)

// Pace rows measure time on the clock, since the client waits between requests. The clients take
// turns.
const (
	heldNames  = 1_000
	sequential = 1_500
	paceWatch  = 20 // watches of one measurement beside the held names
)

func paceRows(ctx context.Context) (rows []Row, err error) {
	err = within(ctx, 10_000, func(ctx context.Context, srv *server) error {
		for _, f := range []func(context.Context, *server) (Row, error){besideHeldRow, sequenceRow, burstRow, steadyRow} {
			row, err := f(ctx, srv)
			if err != nil {
				return err
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}

// besideHeldRow measures a watch, its value and its cancellation, while other names are held.
func besideHeldRow(ctx context.Context, srv *server) (Row, error) {
	var subjects [skipping + 1]*subject
	defer func() {
		for _, s := range subjects {
			if s != nil {
				s.stop()
			}
		}
	}()
	for _, k := range []kind{ours, skipping} {
		s, err := newSubject(ctx, k, srv.addr, 0, false)
		if err != nil {
			return Row{}, err
		}
		subjects[k] = s
		if err := s.watchAll(ctx, heldNames); err != nil {
			return Row{}, err
		}
	}
	mine, peer, err := takeTurns(ours, skipping, func(k kind, round int) (time.Duration, error) {
		began := time.Now()
		for i := range paceWatch {
			cancel, err := subjects[k].watchOne(ctx, heldNames+round*paceWatch+i)
			if err != nil {
				return 0, err
			}
			cancel()
		}
		return time.Since(began) / paceWatch, nil
	})
	return Row{
		Name: fmt.Sprintf("one watch and its cancellation, %d held", heldNames), Unit: "ms", Bound: 1.5,
		Ours: milliseconds(mine), Peer: milliseconds(peer), Beside: "skipping",
	}, err
}

// sequenceRow measures watches, each of which begins after the value of the one before.
func sequenceRow(ctx context.Context, srv *server) (Row, error) {
	mine, peer, err := takeTurns(ours, skipping, func(k kind, _ int) (time.Duration, error) {
		s, err := newSubject(ctx, k, srv.addr, 0, false)
		if err != nil {
			return 0, err
		}
		defer s.stop()
		began := time.Now()
		for i := range sequential {
			if _, err := s.watchOne(ctx, i); err != nil {
				return 0, err
			}
		}
		return time.Since(began), nil
	})
	return Row{
		Name: fmt.Sprintf("%d watches, each after the value of the last", sequential), Unit: "ms", Bound: 1.5,
		Ours: milliseconds(mine), Peer: milliseconds(peer), Beside: "skipping",
	}, err
}

// burstRow measures the bytes of all requests for a burst of watches.
func burstRow(ctx context.Context, srv *server) (Row, error) {
	s, err := newSubject(ctx, ours, srv.addr, 0, false)
	if err != nil {
		return Row{}, err
	}
	defer s.stop()
	if err := s.watchAll(ctx, 10_000); err != nil {
		return Row{}, err
	}
	return Row{Name: "bytes of requests, a burst of 10000 watches", Unit: "MB", Ours: megabytes(s.sent.Load()), Bound: 1.5}, nil
}

// steadyRow measures the bytes of all requests for a watch every 100 µs.
func steadyRow(ctx context.Context, srv *server) (Row, error) {
	const n, every = 10_000, 100 * time.Microsecond
	s, err := newSubject(ctx, ours, srv.addr, 0, false)
	if err != nil {
		return Row{}, err
	}
	defer s.stop()
	told := make(chan struct{}, n)
	began := time.Now()
	timer := time.NewTimer(0)
	for i := range n {
		timer.Reset(time.Until(began.Add(time.Duration(i) * every)))
		<-timer.C
		if _, err := s.watchCluster(i, func() { told <- struct{}{} }); err != nil {
			return Row{}, err
		}
	}
	err = receive(ctx, told, n)
	return Row{Name: "bytes of requests, a watch every 100 us, 10000", Unit: "MB", Ours: megabytes(s.sent.Load()), Bound: 45}, err
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

// receive waits for n tokens.
func receive(ctx context.Context, tokens <-chan struct{}, n int) error {
	for range n {
		select {
		case <-tokens:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// watchAll watches the first n clusters at once, until all are told.
func (s *subject) watchAll(ctx context.Context, n int) error {
	told := make(chan struct{}, n)
	for i := range n {
		if _, err := s.watchCluster(i, func() { told <- struct{}{} }); err != nil {
			return err
		}
	}
	return receive(ctx, told, n)
}

// watchOne watches a cluster until its watcher is told.
func (s *subject) watchOne(ctx context.Context, i int) (cancel func(), err error) {
	told := make(chan struct{}, 1)
	cancel, err = s.watchCluster(i, func() { told <- struct{}{} })
	if err != nil {
		return nil, err
	}
	return cancel, receive(ctx, told, 1)
}

// watchCluster watches a cluster with a request of its own for a minimal client.
func (m *minimal) watchCluster(i int, f func()) (cancel func(), err error) {
	name := clusterName(i)
	m.watch(resourcev3.ClusterType, name, f)
	return func() { _ = m.unwatch(resourcev3.ClusterType, name) }, m.ask(resourcev3.ClusterType)
}

// processorsRow measures how much more processor time a second processor costs. The minimal client, which has no
// workers, shows how much of this is the cost of the collector and of caches that two processors share.
func processorsRow(ctx context.Context) (rows []Row, err error) {
	const n = 10_000
	err = within(ctx, n, func(ctx context.Context, srv *server) error {
		for _, r := range []struct {
			name  string
			of    kind
			bound float64
		}{{"subscribe to 10000 + 10000 on 2 processors", ours, 1.1}, {"  the minimal client", plain, 0}} {
			two, one, err := onProcessors(ctx, srv, r.of, n)
			if err != nil {
				return err
			}
			rows = append(rows, Row{Name: r.name, Unit: "ms", Ours: milliseconds(two), Peer: milliseconds(one), Beside: "on 1", Bound: r.bound})
		}
		return nil
	})
	return rows, err
}
