package etcd

import (
	"context"
	"errors"
	"strconv"

	"github.com/cespare/xxhash/v2"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A store that is restored from a backup may have its old cluster ID and epoch. Revisions begin again at the backup, so
// that the same revision may be another commit. The random ID of the last commit that was read tells the histories apart.

// position returns the head of what the memory has.
func (f *follower) position() head {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.anchor
}

// confirmed moves the anchor on to a head, if the memory has the resources of that head.
func (f *follower) confirmed(h head) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a := &f.anchor; a.generation == h.generation && a.commit.ID == h.commit.ID {
		a.revision = max(a.revision, h.revision)
	}
}

// verify checks that a head continues the history of a position that was read before the head was requested. It returns
// errHistory if it does not, and ErrCompacted if the nodes do not know any longer. A majority confirms heads: they never
// go back within a history.
func (f *follower) verify(ctx context.Context, c *clientv3.Client, h, at head) error {
	switch {
	case h.cluster != at.cluster || h.epoch != at.epoch && at.epoch != "":
		return errHistory
	case h.revision < at.revision || h.generation < at.generation:
		return errHistory
	case h.generation == at.generation:
		if h.commit.ID != at.commit.ID {
			return errHistory
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, f.store.options.Timeout)
	defer cancel()
	r, err := c.Get(ctx, f.store.keys.generation, clientv3.WithRev(at.revision))
	if err != nil {
		return explain(f.store.because(err))
	}
	var then head
	if len(r.Kvs) > 0 {
		then.generation = r.Kvs[0].ModRevision
		if then.commit, err = parseCommit(r.Kvs[0]); err != nil {
			return err
		}
	}
	if then.generation != at.generation || then.commit.ID != at.commit.ID {
		return errHistory
	}
	return nil
}

// lost reports whether an error demands that all resources are read again, and notes that.
func (f *follower) lost(err error) bool {
	history := errors.Is(err, errHistory)
	if !history && !errors.Is(err, rpctypes.ErrCompacted) {
		return false
	}
	f.relist, f.forked = true, f.forked || history
	return true
}

// other reports whether a head that was read with all resources belongs to another history than the known one.
func (f *follower) other(h *head) bool {
	k := &f.known
	return f.forked || h.epoch != k.epoch || h.cluster != k.cluster || h.generation < k.generation ||
		h.generation == k.generation && h.commit.ID != k.commit.ID
}

// nextFork returns the fork of a head. Readers must not take the revisions of another history for those of the known one,
// so another history with the same epoch and cluster gets another fork. It depends on the known fork, too: a store may be
// restored from the same backup twice.
func (f *follower) nextFork(h *head, other bool) string {
	switch {
	case h.epoch != f.known.epoch || h.cluster != f.known.cluster:
		return ""
	case !other:
		return f.known.fork
	}
	return strconv.FormatUint(xxhash.Sum64String(f.known.fork+" "+h.commit.ID), 36)
}
