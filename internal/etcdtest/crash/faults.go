package main

import (
	"context"
	"errors"
	"slices"
	"time"
)

// A fault breaks a part of the world, and repairs it.
type fault struct {
	name string
	make func(ctx context.Context, w *world) error
}

// faults returns all faults. A few rounds have one of each important kind.
func faults() []fault {
	return []fault{
		{"publisher killed", killPublisher},
		{"leader killed", killLeader},
		{"daemon killed", killDaemon},
		{"two of three nodes killed", killMajority},
		{"node of a reader stopped", stopNode},
		{"backup restored", restoreBackup(false, shortOutage)},
		{"backup restored after 5 s", restoreBackup(false, longOutage)},
		{"backup, hidden commits", restoreBackup(true, shortOutage)},
		{"backup, hidden, after 5 s", restoreBackup(true, longOutage)},
	}
}

// killPublisher kills the publisher, most likely in the middle of a transaction. Another one continues.
func killPublisher(ctx context.Context, w *world) error {
	if err := w.publisher.kill(); err != nil {
		return err
	}
	if err := w.verify(ctx); err != nil { // before the next publisher completes anything
		return err
	}
	p, err := startPublisher(ctx, w.nodes.Endpoints(), w.progress.ack)
	w.publisher = p
	return err
}

// killLeader kills the leader of the store, and starts it again.
func killLeader(ctx context.Context, w *world) error {
	i, err := w.nodes.Leader(ctx)
	if err != nil {
		return err
	}
	if err := w.nodes.Kill(i); err != nil {
		return err
	}
	if err := w.progress.more(ctx, 3); err != nil { // the others go on
		return err
	}
	return restart(ctx, w, i)
}

func restart(ctx context.Context, w *world, nodes ...int) error {
	var waits []func() error
	for _, i := range nodes {
		ready, err := w.nodes.Restart(ctx, i)
		if err != nil {
			return err
		}
		waits = append(waits, ready)
	}
	var errs []error
	for _, ready := range waits {
		errs = append(errs, ready())
	}
	return errors.Join(errs...)
}

// killDaemon kills the daemon in use. Clients move to the other one, and a new one starts.
func killDaemon(ctx context.Context, w *world) error {
	if err := w.daemons[0].Kill(); err != nil {
		return err
	}
	next, err := w.startDaemon(ctx)
	if err != nil {
		return err
	}
	w.daemons[0], w.daemons[1] = w.daemons[1], next
	w.balancer.SetBackends(w.daemons[0].Addr, w.daemons[1].Addr)
	return nil
}

// outage is the time without a majority, or with a stopped node.
const outage = 2 * time.Second

// killMajority kills the leader and another node, and starts them again.
func killMajority(ctx context.Context, w *world) error {
	i, err := w.nodes.Leader(ctx)
	if err != nil {
		return err
	}
	j := (i + 1) % 3
	if err := errors.Join(w.nodes.Kill(i), w.nodes.Kill(j), wait(ctx, outage)); err != nil {
		return err
	}
	return restart(ctx, w, i, j)
}

// stopNode stops the node that a reader uses, without an end of its connections, and continues it later.
func stopNode(ctx context.Context, w *world) error {
	i := slices.Index(w.nodes.Endpoints(), w.store.Status().Endpoint)
	if err := errors.Join(w.nodes.Freeze(i), wait(ctx, outage)); err != nil {
		return err
	}
	return w.nodes.Thaw(i)
}
