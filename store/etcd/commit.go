package etcd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/xdsforge/xdsforge/framework/source"
)

// Commit implements [publish.Store]. The revision is that of etcd. The error has [source.ErrConflict] in its chain if a
// condition does not hold, and [ErrUnknownOutcome] if ctx ended before the store knew whether the commit
// happened. Commits of one store wait for each other.
func (s *Store) Commit(ctx context.Context, tx *source.Tx) (source.Revision, error) {
	c, err := s.newCommit(tx)
	if err != nil {
		return 0, err
	}
	if err := s.connect(ctx); err != nil {
		return 0, err
	}
	select {
	case s.writing <- struct{}{}:
	case <-ctx.Done():
		return 0, ended(context.Cause(ctx), nil)
	}
	defer func() { <-s.writing }()
	revision, err := c.run(ctx)
	return source.Revision(revision), err //nolint:gosec // revisions are not negative
}

// A commit is one call of Commit. It decides by the revision of the generation key: each try compares it and changes
// it, so that at most one try succeeds.
type commit struct {
	store      *Store
	conditions []source.Condition
	unchanged  *int64
	info       commitInfo
	writes     []write
	bytes      int
	expires    time.Time // the last expiry, or zero

	head      head
	headKnown bool // head may be compared
	checked   bool // the conditions hold at head
	lease     clientv3.LeaseID
	uploaded  []string // keys of the chunks of a large transaction
	tried     *int64   // the generation that tries with an unknown outcome compared
	losses    int      // of tries, to faster commits
	last      error    // of the nodes
}

// A write is an operation on a key. A nil message deletes it.
type write struct {
	key     source.Key
	message *discoveryv3.Resource
	value   []byte
}

func (s *Store) newCommit(tx *source.Tx) (*commit, error) {
	if err := tx.Check(); err != nil {
		return nil, err
	}
	c := &commit{store: s, conditions: tx.Conditions()}
	if r, ok := tx.Unchanged(); ok {
		want := int64(r) //nolint:gosec // a revision of etcd
		c.unchanged = &want
	}
	c.info = commitInfo{ID: rand.Text(), Time: time.Now().UTC(), Author: s.options.Author}
	operations := tx.Operations()
	last := make(map[source.Key]int, len(operations))
	for i := range operations {
		last[operations[i].Key] = i
	}
	for i := range operations {
		o := &operations[i]
		if last[o.Key] != i {
			continue
		}
		if err := c.add(o); err != nil {
			return nil, err
		}
	}
	for _, k := range c.conditions {
		if err := checkType(k.Key); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *commit) add(o *source.Operation) error {
	if err := checkType(o.Key); err != nil {
		return err
	}
	if c.info.First == "" {
		c.info.First = o.String()
	}
	w := write{key: o.Key}
	if o.Delete {
		c.info.Deletes++
	} else {
		c.info.Puts++
		var err error
		if w.message, err = wrap(&o.Resource); err != nil {
			return err
		}
		if w.value, err = encode(w.message); err != nil {
			return fmt.Errorf("etcd: %s: %w", o.Key, err)
		}
		if o.Expires.After(c.expires) {
			c.expires = o.Expires
		}
	}
	c.writes = append(c.writes, w)
	c.bytes += len(w.value) + len(o.Type) + len(o.Name)
	return nil
}

// large reports whether the operations do not fit one transaction of etcd.
func (c *commit) large() bool {
	const others = 2 // the keys of the generation and the epoch
	o := &c.store.options
	return len(c.writes)+others > o.TxnOperations || c.bytes > o.TxnBytes && len(c.writes) > 1
}

// run tries to commit until the outcome is certain.
func (c *commit) run(ctx context.Context) (int64, error) {
	s := c.store
	c.head = s.known
	c.headKnown = s.known.generation > 0 && len(c.conditions) == 0 && c.unchanged == nil
	s.known = head{}
	for try := 0; ; try++ {
		if err := s.pause(ctx, try); err != nil {
			return 0, c.gaveUp(err)
		}
		revision, done, err := c.try(ctx, s.timeout(try))
		switch {
		case done && err == nil:
			s.known = head{generation: revision, epoch: c.head.epoch}
			return revision, nil
		case done:
			return 0, err
		case err == nil: // another commit was faster
			c.losses++
			try = c.losses/4 - 1
		default:
			c.last = err
		}
	}
}

// gaveUp returns the error of a commit whose context has ended.
func (c *commit) gaveUp(cause error) error {
	err := ended(cause, c.last)
	if c.tried != nil {
		return fmt.Errorf("etcd: %w: %w", ErrUnknownOutcome, err)
	}
	return err
}

// try makes one attempt. An attempt that is not done has to be repeated.
func (c *commit) try(ctx context.Context, limit time.Duration) (revision int64, done bool, err error) {
	s := c.store
	if !c.headKnown {
		tryCtx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		if c.head, err = s.readHead(tryCtx, s.client); err != nil {
			return 0, final(err), explain(s.because(err))
		}
		c.headKnown, c.checked = true, false
	}
	if c.tried != nil && c.head.generation != *c.tried {
		revision, err = s.find(ctx, c.info.ID, *c.tried, c.head)
		if err != nil {
			return 0, true, fmt.Errorf("etcd: %w: %w", ErrUnknownOutcome, err)
		}
		if revision > 0 {
			c.copy(ctx, revision)
			return revision, true, nil
		}
		c.tried = nil // those tries can never succeed any more
	}
	if c.head.batch != nil {
		c.headKnown = false
		err = s.complete(ctx, c.head.batch)
		return 0, err != nil, err
	}
	if err := c.prepare(ctx); err != nil {
		return 0, true, err
	}
	tryCtx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	revision, done, err = c.send(tryCtx)
	if done && err == nil {
		c.copy(ctx, revision)
	}
	return revision, done, err
}

// prepare checks the conditions, and writes everything that must exist before the commit.
func (c *commit) prepare(ctx context.Context) (err error) {
	if c.tried != nil {
		return nil // the conditions held at the same head
	}
	if !c.checked {
		if err := c.check(ctx); err != nil {
			return err
		}
		c.checked = true
	}
	if c.lease == 0 && !c.expires.IsZero() {
		if c.lease, err = c.store.grant(ctx, c.expires); err != nil {
			return err
		}
	}
	if c.large() && c.uploaded == nil {
		return c.upload(ctx)
	}
	return nil
}

// send sends the transaction.
func (c *commit) send(ctx context.Context) (revision int64, done bool, err error) {
	s := c.store
	info, err := json.Marshal(c.info)
	if err != nil {
		return 0, true, fmt.Errorf("etcd: %w", err)
	}
	compares := []clientv3.Cmp{
		clientv3.Compare(clientv3.ModRevision(s.keys.generation), "=", c.head.generation),
		clientv3.Compare(clientv3.CreateRevision(s.keys.batch), "=", 0),
	}
	ops := []clientv3.Op{clientv3.OpPut(s.keys.generation, string(info))}
	epoch := c.head.epoch
	if epoch == "" {
		epoch = rand.Text()
		ops = append(ops, clientv3.OpPut(s.keys.epoch, epoch))
	}
	if c.large() {
		if compares, ops, err = c.flip(compares, ops); err != nil {
			return 0, true, err
		}
	} else {
		for i := range c.writes {
			ops = append(ops, s.op(&c.writes[i], c.lease))
		}
	}
	r, err := s.client.Txn(ctx).If(compares...).Then(ops...).Else(s.headOps()...).Commit()
	switch {
	case err != nil && final(err) && c.tried == nil:
		return 0, true, explain(err)
	case err != nil && final(err):
		return 0, true, fmt.Errorf("etcd: %w: %w", ErrUnknownOutcome, explain(err))
	case err != nil:
		generation := c.head.generation
		c.tried = &generation
		return 0, false, explain(s.because(err))
	case r.Succeeded:
		c.head.epoch = epoch
		return r.Header.Revision, true, nil
	}
	h, err := headOf(r.Header, r.Responses)
	if err != nil {
		return 0, true, err
	}
	if h.generation == c.head.generation && h.batch == nil {
		c.uploaded = nil // the chunks have expired
	}
	c.head, c.checked = h, false
	return 0, false, nil
}

// op returns the operation of a write.
func (s *Store) op(w *write, lease clientv3.LeaseID) clientv3.Op {
	key := s.keys.resource(w.key)
	switch {
	case w.value == nil:
		return clientv3.OpDelete(key)
	case w.message.GetMetadata().GetTypedFilterMetadata()[fieldExpires] != nil:
		return clientv3.OpPut(key, string(w.value), clientv3.WithLease(lease))
	}
	return clientv3.OpPut(key, string(w.value))
}

// find returns the revision of a commit, or 0 if it did not happen. It looks at the commits after a generation, up
// to that of a head.
func (s *Store) find(ctx context.Context, id string, since int64, now head) (int64, error) {
	if now.commit.ID == id {
		return now.generation, nil
	}
	for revision := now.generation - 1; revision > since; {
		info, at, err := s.commitAt(ctx, revision)
		if err != nil || at == 0 {
			return 0, err
		}
		if info.ID == id {
			return at, nil
		}
		revision = at - 1
	}
	return 0, nil
}

// commitAt returns the last commit up to a revision, and its revision. That is 0 if there was none.
func (s *Store) commitAt(ctx context.Context, revision int64) (info commitInfo, at int64, err error) {
	var r *clientv3.GetResponse
	err = s.retry(ctx, func(ctx context.Context) error {
		r, err = s.client.Get(ctx, s.keys.generation, clientv3.WithRev(revision))
		return err
	})
	if err != nil || len(r.Kvs) == 0 {
		return info, 0, err
	}
	info, err = parseCommit(r.Kvs[0])
	return info, r.Kvs[0].ModRevision, err
}

// A lease outlives the last resource that expires by leaseMargin. Resources that live longer than maxLease
// have no lease.
const (
	leaseMargin = time.Minute
	maxLease    = 10 * 365 * 24 * time.Hour
)

// grant returns a lease that ends after a time, or 0 if that is very late.
func (s *Store) grant(ctx context.Context, end time.Time) (clientv3.LeaseID, error) {
	d := max(time.Until(end), 0) + leaseMargin
	if d > maxLease {
		return 0, nil
	}
	var r *clientv3.LeaseGrantResponse
	err := s.retry(ctx, func(ctx context.Context) (err error) {
		r, err = s.client.Grant(ctx, int64(d/time.Second)+1)
		return err
	})
	if err != nil {
		return 0, err
	}
	return r.ID, nil
}
