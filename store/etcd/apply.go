package etcd

import (
	"context"
	"strconv"
	"strings"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/xdsforge/xdsforge/framework/source"
)

// list reads all resources, and applies the differences.
func (f *follower) list(ctx context.Context, c *clientv3.Client) error {
	snap, err := f.store.read(ctx, c, 0)
	if err != nil {
		return err
	}
	if len(snap.entries) == 0 && snap.epoch == "" && len(f.has) > 0 {
		return errHeld
	}
	return f.apply(ctx, snap)
}

// apply makes the memory have the resources of a snapshot.
func (f *follower) apply(ctx context.Context, snap *snapshot) error {
	other := f.listed && f.other(&snap.head)
	snap.fork = f.nextFork(&snap.head, other)
	var b changes
	for k := range f.has {
		_, exists := snap.entries[k]
		if _, invalid := snap.invalid[k]; !exists && !invalid {
			b.deletes = append(b.deletes, k)
		}
	}
	for k, e := range snap.entries {
		if x, ok := f.has[k]; !ok || other || x.revision != e.revision || x.digest != digestOf(&e.Resource) {
			b.puts = append(b.puts, e)
		}
	}
	for _, err := range snap.invalid {
		f.invalid(ctx, err)
	}
	if other {
		f.mu.Lock()
		f.recent = nil // other daemons must not compare them with those of this history
		f.mu.Unlock()
		f.store.options.Logger.WarnContext(ctx, "store has another history; all resources were read again",
			"cluster", snap.cluster, "epoch", snap.epoch, "puts", len(b.puts), "deletes", len(b.deletes))
	}
	if err := f.commit(ctx, &b, snap.head, 1); err != nil {
		return err
	}
	f.known, f.listed, f.relist, f.forked = snap.head, true, false, false
	return nil
}

// changes are to be applied to the memory.
type changes struct {
	puts    []entry
	deletes []source.Key
}

// applyEvents applies events, which lead to a revision.
func (f *follower) applyEvents(ctx context.Context, c *clientv3.Client, events map[string]*clientv3.Event, revision int64) error {
	k := &f.store.keys
	next := f.known
	next.revision = revision
	var b changes
	var inBatch map[source.Key]*discoveryv3.Resource
	var err error
	if e := events[k.batch]; e != nil && !deleted(e) {
		if inBatch, err = f.addBatch(ctx, c, &b, e); err != nil {
			return err
		}
	}
	for key, e := range events {
		switch {
		case key == k.epoch:
			if next.epoch != "" && (deleted(e) || string(e.Kv.Value) != next.epoch) {
				return errHistory
			}
			next.epoch = string(e.Kv.Value)
		case key == k.generation:
			if next.generation = e.Kv.ModRevision; deleted(e) {
				return errHistory // no publisher does that
			}
			if next.commit, err = parseCommit(e.Kv); err != nil {
				return err
			}
		case strings.HasPrefix(key, k.resources):
			f.add(ctx, &b, e, inBatch)
		}
	}
	if err := f.commit(ctx, &b, next, 0); err != nil {
		return err
	}
	f.known = next
	return nil
}

// add adds the event of a resource, unless a large transaction contains the resource. An invalid value leaves the
// resource as it is.
func (f *follower) add(ctx context.Context, b *changes, e *clientv3.Event, inBatch map[source.Key]*discoveryv3.Resource) {
	key, ok := f.store.keys.parse(e.Kv.Key)
	if _, changed := inBatch[key]; !ok || changed {
		return
	}
	if deleted(e) {
		b.deletes = append(b.deletes, key)
		return
	}
	r, err := decode(key, e.Kv.Value, e.Kv.ModRevision)
	if err != nil {
		f.invalid(ctx, err)
		return
	}
	b.puts = append(b.puts, r)
}

// addBatch adds the resources of a large transaction, and returns them.
func (f *follower) addBatch(ctx context.Context, c *clientv3.Client, b *changes, e *clientv3.Event) (map[source.Key]*discoveryv3.Resource, error) {
	p, err := parseBatch(e.Kv)
	if err != nil {
		return nil, err
	}
	changed, err := f.store.overlay(ctx, c, p, clientv3.WithSerializable())
	if err != nil {
		return nil, err
	}
	for k, w := range changed {
		if w == nil {
			b.deletes = append(b.deletes, k)
			continue
		}
		r, err := unwrap(k, w, p.revision)
		if err != nil {
			f.invalid(ctx, err)
			continue
		}
		b.puts = append(b.puts, r)
	}
	return changed, nil
}

// invalid notes a value that is not a resource.
func (f *follower) invalid(ctx context.Context, err error) {
	f.mu.Lock()
	f.status.Invalid++
	f.mu.Unlock()
	f.store.options.Logger.WarnContext(ctx, "store has an invalid value; the resource stays as it was", "error", err.Error())
}

// epochOf identifies the history of a head for readers. A backup that is restored has the old epoch in another
// cluster, or in another fork.
func epochOf(h head) string {
	epoch := h.epoch + "." + strconv.FormatUint(h.cluster, 36)
	if h.fork != "" {
		epoch += "." + h.fork
	}
	return epoch
}

// commit applies changes to the memory in one step. Whoever sees the changes also sees the status and the digest that
// belong to them.
func (f *follower) commit(ctx context.Context, b *changes, h head, lists int) error {
	tx := new(source.Tx)
	for _, k := range b.deletes {
		if _, ok := f.has[k]; ok {
			tx.Delete(k)
		}
	}
	for i := range b.puts {
		tx.Put(b.puts[i].Resource)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.memory.CommitAt(ctx, tx, epochOf(h), source.Revision(h.generation)); err != nil { //nolint:gosec // not negative
		return err
	}
	for _, k := range b.deletes {
		f.sums[k.Type] ^= f.has[k].digest
		delete(f.has, k)
	}
	for i := range b.puts {
		r := &b.puts[i]
		d := digestOf(&r.Resource)
		f.sums[r.Type] ^= f.has[r.Key].digest ^ d
		f.has[r.Key] = has{r.revision, d}
	}
	f.anchor = h
	f.status.Revision, f.status.Epoch, f.status.Resources = h.generation, h.epoch, len(f.has)
	f.status.Lists += lists
	f.remember()
	close(f.applied)
	f.applied = make(chan struct{})
	return nil
}
