package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/etcdtest"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/publish"
	"github.com/xdsforge/xdsforge/store/etcd"
)

const (
	shortOutage = 0
	longOutage  = 5 * time.Second // readers are stale by then
	// hiddenStep separates the transactions that readers cannot see happen from all others.
	hiddenStep    = 1000
	hiddenCommits = 40 // more than the lost history has
)

// mistake is the name of the resource for whose sake somebody restores a backup.
const mistake = "mistake"

// restoreBackup restores a backup with the old cluster ID, after an outage of all nodes. All readers must return to exactly the
// resources of the restored store. If hidden, a publisher commits to the restored nodes before any reader reaches them.
func restoreBackup(hidden bool, down time.Duration) func(ctx context.Context, w *world) error {
	return func(ctx context.Context, w *world) error {
		path := filepath.Join(w.dir, "backup.db")
		if err := errors.Join(w.nodes.Backup(ctx, path), w.progress.more(ctx, 3)); err != nil {
			return err
		}
		bad := source.Resource{Key: source.Key{Type: cluster.Type().URL(), Name: mistake}, Body: []byte{}}
		if _, err := w.store.Commit(ctx, new(publish.Tx).Put(bad)); err != nil {
			return err
		}
		if err := errors.Join(w.progress.more(ctx, 3), w.publisher.kill(), w.progress.caughtUp(ctx)); err != nil {
			return err
		}
		how := etcdtest.Restoration{Down: func() error { return wait(ctx, down) }}
		if hidden {
			how.Before = func() error { return w.publishHidden(ctx) }
		}
		w.progress.restoring()
		if err := w.nodes.Restore(ctx, path, how); err != nil {
			return err
		}
		if err := w.restored(ctx); err != nil {
			return err
		}
		p, err := startPublisher(ctx, w.nodes.Endpoints(), w.progress.ack)
		w.publisher = p
		return err
	}
}

// publishHidden commits to the nodes at their present addresses.
func (w *world) publishHidden(ctx context.Context) error {
	s, err := w.open()
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // everything was confirmed
	w.progress.mu.Lock()
	n := w.progress.acknowledged + hiddenStep
	w.progress.mu.Unlock()
	for i := range hiddenCommits {
		if err := put(ctx, s, n+uint32(i)); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) open() (*etcd.Store, error) {
	return etcd.Open(etcd.Options{Endpoints: w.nodes.Endpoints(), Logger: slog.New(slog.DiscardHandler)})
}

// restored waits until all readers have exactly the resources of the restored store, as a new reader has them.
func (w *world) restored(ctx context.Context) error {
	start := time.Now()
	s, err := w.open()
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // it was only read
	state, err := s.State(ctx, 0)
	if err != nil {
		return err
	}
	n, err := numberOf(state.Resources)
	if err != nil {
		return fmt.Errorf("in the restored store: %w", err)
	}
	if err := w.progress.restored(ctx, n, start); err != nil {
		return err
	}
	session, err := s.Open(ctx, nobody{})
	if err != nil {
		return err
	}
	session.Want([]source.Interest{{}}, nil)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return w.compare(ctx, s)
}

// nobody is a sink without a use for resources.
type nobody struct{}

// Apply implements [source.Sink].
func (nobody) Apply(source.Change) error { return nil }

// State implements [source.Sink].
func (nobody) State(source.State) {}
