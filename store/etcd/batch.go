package etcd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A large transaction is written as chunks: each is an envoy.service.discovery.v3.DeltaDiscoveryResponse with names
// "TYPE URL/NAME". The commit creates the batch key, which makes the chunks take precedence over the keys of
// the resources. Afterwards the chunks are copied to these keys, and the batch key and the chunks are deleted.

// uploadTime is the time for which chunks exist without a commit. It is the limit of an upload.
const uploadTime = 10 * time.Minute

// upload writes the chunks.
func (c *commit) upload(ctx context.Context) error {
	s := c.store
	lease, err := s.grant(ctx, time.Now().Add(uploadTime-leaseMargin))
	if err != nil {
		return err
	}
	var uploaded []string
	for rest := c.writes; len(rest) > 0; {
		var value []byte
		if value, rest, err = s.chunk(rest); err != nil {
			return err
		}
		key := fmt.Sprintf("%s%s/%06d", s.keys.chunks, c.info.ID, len(uploaded))
		err = s.retry(ctx, func(ctx context.Context) error {
			_, err := s.client.Put(ctx, key, string(value), clientv3.WithLease(lease))
			return err
		})
		if err != nil {
			return err
		}
		uploaded = append(uploaded, key)
		const others = 3 // the keys of the generation, the epoch and the batch
		if limit := s.options.TxnOperations - others; len(uploaded) == limit && len(rest) > 0 {
			return fmt.Errorf("etcd: transaction = %d bytes; must fit %d parts of %d bytes (TxnOperations, TxnBytes)", c.bytes, limit, s.options.TxnBytes)
		}
	}
	c.uploaded = uploaded
	return nil
}

// chunk encodes as many writes as fit one chunk, and returns the others. A chunk has at least one write.
func (s *Store) chunk(writes []write) (value []byte, rest []write, err error) {
	const overhead = 16 // bytes of an element, apart from its content
	d := new(discoveryv3.DeltaDiscoveryResponse)
	size, n := 0, 0
	for n < len(writes) {
		w := &writes[n]
		size += len(w.value) + len(w.key.Type) + len(w.key.Name) + overhead
		if n > 0 && size > s.options.TxnBytes {
			break
		}
		if w.message == nil {
			d.RemovedResources = append(d.RemovedResources, w.key.Type+"/"+w.key.Name)
		} else {
			d.Resources = append(d.Resources, w.message)
		}
		n++
	}
	value, err = proto.MarshalOptions{Deterministic: true}.Marshal(d)
	if err != nil {
		return nil, nil, fmt.Errorf("etcd: %w", err)
	}
	return value, writes[n:], nil
}

// flip adds what makes the chunks visible to a transaction. The chunks cease to expire.
func (c *commit) flip(compares []clientv3.Cmp, ops []clientv3.Op) ([]clientv3.Cmp, []clientv3.Op, error) {
	value, err := json.Marshal(batch{ID: c.info.ID, Lease: c.lease})
	if err != nil {
		return nil, nil, fmt.Errorf("etcd: %w", err)
	}
	ops = append(ops, clientv3.OpPut(c.store.keys.batch, string(value)))
	for _, key := range c.uploaded {
		compares = append(compares, clientv3.Compare(clientv3.CreateRevision(key), ">", 0))
		ops = append(ops, clientv3.OpPut(key, "", clientv3.WithIgnoreValue()))
	}
	return compares, ops, nil
}

// copy copies a large transaction to the keys of its resources. If that fails, the next commit does it.
func (c *commit) copy(ctx context.Context, revision int64) {
	if !c.large() {
		return
	}
	b := &batch{revision: revision, ID: c.info.ID, Lease: c.lease}
	if err := c.store.complete(ctx, b); err != nil {
		c.store.options.Logger.WarnContext(ctx, "large transaction is not copied yet; the next commit does it", "revision", revision, "error", err.Error())
	}
}

// errCopied ends the work on a batch that another process has completed.
var errCopied = errors.New("another process has copied the transaction")

// complete copies a batch. Several processes may do so at the same time.
func (s *Store) complete(ctx context.Context, b *batch) error {
	err := s.eachChunk(ctx, s.client, b, func(d *discoveryv3.DeltaDiscoveryResponse) error {
		writes, err := writesOf(d, b)
		if err != nil {
			return err
		}
		for len(writes) > 0 {
			n := s.fit(writes)
			if err := s.copyWrites(ctx, b, writes[:n]); err != nil {
				return err
			}
			writes = writes[n:]
		}
		return nil
	})
	if err == nil {
		err = s.whileBatch(ctx, b, clientv3.OpDelete(s.keys.batch), clientv3.OpDelete(s.keys.chunks+b.ID+"/", clientv3.WithPrefix()))
	}
	if errors.Is(err, errCopied) {
		return nil
	}
	return err
}

// fit returns the number of writes that fit one transaction of etcd.
func (s *Store) fit(writes []write) int {
	size := 0
	for i := range writes {
		size += len(writes[i].value) + len(writes[i].key.Type) + len(writes[i].key.Name)
		if i > 0 && (i == s.options.TxnOperations || size > s.options.TxnBytes) {
			return i
		}
	}
	return len(writes)
}

// copyWrites puts resources. If the lease of the batch has expired, the resources that it belongs to have expired
// as well, and are deleted.
func (s *Store) copyWrites(ctx context.Context, b *batch, writes []write) error {
	ops := make([]clientv3.Op, 0, len(writes))
	for i := range writes {
		ops = append(ops, s.op(&writes[i], b.Lease))
	}
	err := s.whileBatch(ctx, b, ops...)
	if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return err
	}
	for i := range writes {
		if writes[i].message.GetMetadata().GetTypedFilterMetadata()[fieldExpires] != nil {
			ops[i] = clientv3.OpDelete(s.keys.resource(writes[i].key))
		}
	}
	return s.whileBatch(ctx, b, ops...)
}

// whileBatch applies operations if the batch is still to be copied. Otherwise it returns errCopied.
func (s *Store) whileBatch(ctx context.Context, b *batch, ops ...clientv3.Op) error {
	var r *clientv3.TxnResponse
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		r, err = s.client.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(s.keys.batch), "=", b.revision)).Then(ops...).Commit()
		return err
	})
	if err == nil && !r.Succeeded {
		return errCopied
	}
	return err
}

// writesOf returns the writes of a chunk. Their values have the revision of the commit.
func writesOf(d *discoveryv3.DeltaDiscoveryResponse, b *batch) ([]write, error) {
	writes := make([]write, 0, len(d.GetResources())+len(d.GetRemovedResources()))
	for _, w := range d.GetResources() {
		k, ok := split(w.GetName())
		if !ok {
			return nil, fmt.Errorf("etcd: name = %q in a chunk; must be TYPE URL/NAME", w.GetName())
		}
		if err := annotate(w, fieldRevision, wrapperspb.UInt64(uint64(b.revision))); err != nil { //nolint:gosec // revisions are not negative
			return nil, err
		}
		value, err := encode(w)
		if err != nil {
			return nil, fmt.Errorf("etcd: %s: %w", k, err)
		}
		writes = append(writes, write{k, w, value})
	}
	for _, name := range d.GetRemovedResources() {
		k, ok := split(name)
		if !ok {
			return nil, fmt.Errorf("etcd: name = %q in a chunk; must be TYPE URL/NAME", name)
		}
		writes = append(writes, write{key: k})
	}
	return writes, nil
}

// eachChunk calls f with the chunks of a batch, as they were at its commit.
func (s *Store) eachChunk(ctx context.Context, c *clientv3.Client, b *batch, f func(*discoveryv3.DeltaDiscoveryResponse) error, opts ...clientv3.OpOption) error {
	prefix := s.keys.chunks + b.ID + "/"
	end := clientv3.GetPrefixRangeEnd(prefix)
	for key := prefix; ; {
		var r *clientv3.GetResponse
		err := s.retry(ctx, func(ctx context.Context) (err error) {
			r, err = c.Get(ctx, key, append(opts, clientv3.WithRange(end), clientv3.WithLimit(1), clientv3.WithRev(b.revision))...)
			return err
		})
		if err != nil {
			return err
		}
		if len(r.Kvs) == 0 {
			return nil
		}
		d := new(discoveryv3.DeltaDiscoveryResponse)
		if err := proto.Unmarshal(r.Kvs[0].Value, d); err != nil {
			return fmt.Errorf("etcd: the value of %s; must be an envoy.service.discovery.v3.DeltaDiscoveryResponse: %w", r.Kvs[0].Key, err)
		}
		if err := f(d); err != nil {
			return err
		}
		key = string(r.Kvs[0].Key) + "\x00"
	}
}

// overlay returns the resources of a batch. A nil message is deleted.
func (s *Store) overlay(ctx context.Context, c *clientv3.Client, b *batch, opts ...clientv3.OpOption) (map[source.Key]*discoveryv3.Resource, error) {
	out := make(map[source.Key]*discoveryv3.Resource)
	err := s.eachChunk(ctx, c, b, func(d *discoveryv3.DeltaDiscoveryResponse) error {
		for _, w := range d.GetResources() {
			if k, ok := split(w.GetName()); ok {
				out[k] = w
			}
		}
		for _, name := range d.GetRemovedResources() {
			if k, ok := split(name); ok {
				out[k] = nil
			}
		}
		if len(out) > s.options.MaxResources {
			return fmt.Errorf("etcd: a transaction has more than %d resources (MaxResources)", s.options.MaxResources)
		}
		return nil
	}, opts...)
	return out, err
}
