package etcd

import (
	"context"
	"fmt"
	"slices"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/xdsforge/xdsforge/framework/source"
)

// check checks the conditions at the head.
func (c *commit) check(ctx context.Context) error {
	if c.unchanged != nil && *c.unchanged != c.head.generation {
		return fmt.Errorf("etcd: revision = %d; must be %d: %w", c.head.generation, *c.unchanged, source.ErrConflict)
	}
	const page = 100 // conditions of one read
	for rest := c.conditions; len(rest) > 0; {
		n := min(page, len(rest), c.store.options.TxnOperations)
		if err := c.checkPage(ctx, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

func (c *commit) checkPage(ctx context.Context, conditions []source.Condition) error {
	s := c.store
	ops := make([]clientv3.Op, 0, len(conditions))
	for _, k := range conditions {
		ops = append(ops, clientv3.OpGet(s.keys.resource(k.Key), clientv3.WithRev(c.head.revision)))
	}
	var r *clientv3.TxnResponse
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		r, err = s.client.Txn(ctx).Then(ops...).Commit()
		return err
	})
	if err != nil {
		return err
	}
	now := time.Now()
	for i, k := range conditions {
		var revision int64
		if kv := only(r.Responses[i]); kv != nil {
			if e, err := decode(k.Key, kv.Value, kv.ModRevision); err != nil || e.alive(now) {
				revision = e.revision
			}
		}
		if want := int64(k.Revision); revision != want { //nolint:gosec // a revision of etcd
			return fmt.Errorf("etcd: revision of %s = %d; must be %d: %w", k.Key, revision, want, source.ErrConflict)
		}
	}
	return nil
}

// Lookup returns a resource and the revision of the commit that put it last. The revision is 0 if the resource
// does not exist.
func (s *Store) Lookup(ctx context.Context, k source.Key) (source.Resource, source.Revision, error) {
	if err := checkType(k); err != nil {
		return source.Resource{}, 0, err
	}
	if err := s.connect(ctx); err != nil {
		return source.Resource{}, 0, err
	}
	var r *clientv3.TxnResponse
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		r, err = s.client.Txn(ctx).Then(clientv3.OpGet(s.keys.batch), clientv3.OpGet(s.keys.resource(k))).Commit()
		return err
	})
	if err != nil {
		return source.Resource{}, 0, err
	}
	var e entry
	if kv := only(r.Responses[1]); kv != nil {
		if e, err = decode(k, kv.Value, kv.ModRevision); err != nil {
			return source.Resource{}, 0, err
		}
	}
	if kv := only(r.Responses[0]); kv != nil {
		b, err := parseBatch(kv)
		if err != nil {
			return source.Resource{}, 0, err
		}
		if e, err = s.lookupIn(ctx, b, k, e); err != nil {
			return source.Resource{}, 0, err
		}
	}
	if e.revision == 0 || !e.alive(time.Now()) {
		return source.Resource{}, 0, nil
	}
	return e.Resource, source.Revision(e.revision), nil //nolint:gosec // revisions are not negative
}

// lookupIn returns a resource of a batch, or e if the batch does not contain it.
func (s *Store) lookupIn(ctx context.Context, b *batch, k source.Key, e entry) (entry, error) {
	changed, err := s.overlay(ctx, s.client, b)
	if err != nil {
		return e, err
	}
	w, found := changed[k]
	switch {
	case !found:
		return e, nil
	case w == nil:
		return entry{}, nil
	}
	return unwrap(k, w, b.revision)
}

// A snapshot is the resources of a tenant at one revision.
type snapshot struct {
	head
	entries map[source.Key]entry
	invalid map[source.Key]error // whose values are not resources
}

// The size of a page of a listing adapts to the size of the resources.
const (
	firstPage = 500
	maxPage   = 5_000
	pageBytes = 8 << 20
	pageTime  = 5 // times Timeout, for a page
)

// read reads a snapshot. Revision 0 is the newest. Options apply to all reads.
func (s *Store) read(ctx context.Context, c *clientv3.Client, revision int64, opts ...clientv3.OpOption) (*snapshot, error) {
	snap, err := s.readHeadAt(ctx, c, revision, opts...)
	if err != nil {
		return nil, err
	}
	var total int64
	size := int64(firstPage)
	for key := s.keys.resources; ; {
		o := append(slices.Clip(opts), clientv3.WithRange(s.keys.endOfResources), clientv3.WithRev(snap.revision), clientv3.WithLimit(size))
		pageCtx, cancel := context.WithTimeout(ctx, pageTime*s.options.Timeout)
		r, err := c.Get(pageCtx, key, o...)
		cancel()
		if err != nil {
			return nil, explain(s.because(err))
		}
		var bytes int64
		for _, kv := range r.Kvs {
			bytes += int64(len(kv.Key) + len(kv.Value))
			s.add(snap, kv)
		}
		if total += bytes; total > s.options.MaxBytes {
			return nil, fmt.Errorf("etcd: the tenant has more than %d bytes (MaxBytes)", s.options.MaxBytes)
		}
		if len(snap.entries) > s.options.MaxResources {
			return nil, fmt.Errorf("etcd: the tenant has more than %d resources (MaxResources)", s.options.MaxResources)
		}
		if !r.More || len(r.Kvs) == 0 {
			break
		}
		key = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
		size = max(1, min(maxPage, pageBytes*int64(len(r.Kvs))/max(1, bytes)))
	}
	return snap, s.addBatch(ctx, c, snap, opts...)
}

// readHeadAt returns a snapshot without resources.
func (s *Store) readHeadAt(ctx context.Context, c *clientv3.Client, revision int64, opts ...clientv3.OpOption) (*snapshot, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	ops := make([]clientv3.Op, 0, 3)
	for _, key := range []string{s.keys.generation, s.keys.epoch, s.keys.batch} {
		o := slices.Clip(opts)
		if revision > 0 {
			o = append(o, clientv3.WithRev(revision))
		}
		ops = append(ops, clientv3.OpGet(key, o...))
	}
	r, err := c.Txn(ctx).Then(ops...).Commit()
	if err != nil {
		return nil, explain(s.because(err))
	}
	h, err := headOf(r.Header, r.Responses)
	if revision > 0 {
		h.revision = revision
	}
	return &snapshot{head: h, entries: make(map[source.Key]entry), invalid: make(map[source.Key]error)}, err
}

// add adds the resource in a key.
func (s *Store) add(snap *snapshot, kv *mvccpb.KeyValue) {
	k, ok := s.keys.parse(kv.Key)
	if !ok {
		snap.invalid[source.Key{Name: string(kv.Key)}] = fmt.Errorf("etcd: key %q; must end with TYPE URL/NAME", kv.Key)
		return
	}
	e, err := decode(k, kv.Value, kv.ModRevision)
	if err != nil {
		snap.invalid[k] = err
		return
	}
	snap.entries[k] = e
}

// addBatch adds the resources of a batch that is not copied yet.
func (s *Store) addBatch(ctx context.Context, c *clientv3.Client, snap *snapshot, opts ...clientv3.OpOption) error {
	if snap.batch == nil {
		return nil
	}
	changed, err := s.overlay(ctx, c, snap.batch, opts...)
	if err != nil {
		return err
	}
	snap.put(changed)
	return nil
}

// put applies the resources of the snapshot's batch.
func (snap *snapshot) put(changed map[source.Key]*discoveryv3.Resource) {
	for k, w := range changed {
		if w == nil {
			delete(snap.entries, k)
			continue
		}
		e, err := unwrap(k, w, snap.batch.revision)
		if err != nil {
			snap.invalid[k] = err
			continue
		}
		snap.entries[k] = e
	}
}
