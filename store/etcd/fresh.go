package etcd

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/xdsforge/xdsforge/framework/source"
)

// check checks at intervals that the watch has seen the last commit. It returns the reason why the endpoint cannot
// be used any longer. A watch of a node that is frozen or cut off would be silent.
func (f *follower) check(ctx context.Context, c *clientv3.Client, in *inbox) error {
	for {
		start, waiting, at := time.Now(), f.takeUnconfirmed(), f.position()
		h, err := f.head(ctx, c)
		if err == nil {
			err = f.verify(ctx, c, h, at)
		}
		if err != nil {
			releaseAll(waiting)
			return err
		}
		reached := f.await(ctx, h.generation)
		releaseAll(waiting)
		if reached {
			f.fresh(start)
			f.confirmed(h)
		} else if !in.reached(h.generation) {
			return errBehind
		}
		if err := f.pause(ctx); err != nil {
			return err
		}
	}
}

// checkPause is the least time between two checks, however many sessions wait for one.
const checkPause = 10 * time.Millisecond

// pause waits until the next check: for the interval, or for less if a session waits.
func (f *follower) pause(ctx context.Context) error {
	if err := f.store.wait(ctx, checkPause); err != nil {
		return err
	}
	t := time.NewTimer(f.store.options.CheckInterval - checkPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-f.kick:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// await waits until the memory has a revision. It reports false after the limit of a check.
func (f *follower) await(ctx context.Context, revision int64) bool {
	t := time.NewTimer(f.store.options.Timeout)
	defer t.Stop()
	for {
		f.mu.Lock()
		reached, applied := f.status.Revision >= revision, f.applied
		f.mu.Unlock()
		if reached {
			return true
		}
		select {
		case <-applied:
		case <-t.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// fresh notes that the resources were current at a time.
func (f *follower) fresh(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = 0
	f.status.Fresh, f.status.Err = at, nil
	f.memory.SetState(source.State{Kind: source.Live})
}

// watchAge reports resources as stale that were not confirmed for too long.
func (f *follower) watchAge() {
	limit := f.store.options.StaleAfter
	for d := limit; f.store.wait(f.store.ctx, d) == nil; {
		f.mu.Lock()
		age := time.Since(f.status.Fresh)
		if !f.status.Fresh.IsZero() && age >= limit {
			f.memory.SetState(source.State{Kind: source.Stale, Since: f.status.Fresh, Err: f.status.Err})
		}
		f.mu.Unlock()
		d = max(limit-age, limit/8, time.Millisecond)
	}
}
