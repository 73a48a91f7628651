package etcd

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A head is the state of a tenant, apart from its resources.
type head struct {
	cluster    uint64
	revision   int64 // of all tenants
	epoch      string
	generation int64 // revision of the last commit; 0: there was none
	commit     commitInfo
	batch      *batch // is being copied, or nil
	fork       string // tells histories with the same epoch and cluster apart; see nextFork
}

// commitInfo is the value of the generation key.
type commitInfo struct {
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Author  string    `json:"author,omitempty"`
	Puts    int       `json:"puts"`
	Deletes int       `json:"deletes"`
	First   string    `json:"first,omitempty"` // type and name of the first resource
}

// A batch is a large transaction.
type batch struct {
	revision int64 // of the commit
	ID       string
	Lease    clientv3.LeaseID `json:",omitempty"` // of resources that expire
}

func (s *Store) headOps() []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(s.keys.generation), clientv3.OpGet(s.keys.epoch), clientv3.OpGet(s.keys.batch)}
}

// readHead reads the head. A majority of the nodes confirms it.
func (s *Store) readHead(ctx context.Context, c *clientv3.Client) (head, error) {
	r, err := c.Txn(ctx).Then(s.headOps()...).Commit()
	if err != nil {
		return head{}, err
	}
	return headOf(r.Header, r.Responses)
}

// headOf returns the head in the responses to headOps.
func headOf(h *etcdserverpb.ResponseHeader, responses []*etcdserverpb.ResponseOp) (head, error) {
	out := head{cluster: h.GetClusterId(), revision: h.GetRevision()}
	if kv := only(responses[0]); kv != nil {
		var err error
		out.generation = kv.ModRevision
		if out.commit, err = parseCommit(kv); err != nil {
			return out, err
		}
	}
	if kv := only(responses[1]); kv != nil {
		out.epoch = string(kv.Value)
	}
	if kv := only(responses[2]); kv != nil {
		b, err := parseBatch(kv)
		if err != nil {
			return out, err
		}
		out.batch = b
	}
	return out, nil
}

func parseCommit(kv *mvccpb.KeyValue) (info commitInfo, err error) {
	if err := json.Unmarshal(kv.Value, &info); err != nil {
		return info, fmt.Errorf("etcd: %s at revision %d; must be the JSON of a commit: %w", kv.Key, kv.ModRevision, err)
	}
	return info, nil
}

func parseBatch(kv *mvccpb.KeyValue) (*batch, error) {
	b := &batch{revision: kv.ModRevision}
	if err := json.Unmarshal(kv.Value, b); err != nil {
		return nil, fmt.Errorf("etcd: %s; must be the JSON of a large transaction: %w", kv.Key, err)
	}
	return b, nil
}

func only(r *etcdserverpb.ResponseOp) *mvccpb.KeyValue {
	if kvs := r.GetResponseRange().GetKvs(); len(kvs) > 0 {
		return kvs[0]
	}
	return nil
}

const (
	minPause = 20 * time.Millisecond
	maxPause = time.Second
)

// retry calls f until it succeeds, fails finally, or ctx ends. Each try has a deadline.
func (s *Store) retry(ctx context.Context, f func(ctx context.Context) error) error {
	var last error
	for try := 0; ; try++ {
		if err := s.pause(ctx, try); err != nil {
			return ended(err, last)
		}
		tryCtx, cancel := context.WithTimeout(ctx, s.timeout(try))
		err := f(tryCtx)
		cancel()
		switch {
		case err == nil:
			return nil
		case final(err):
			return explain(err)
		}
		last = s.because(err)
	}
}

// timeout is the limit of a try: it doubles up to eight times the first one.
func (s *Store) timeout(try int) time.Duration { return s.options.Timeout << min(try, 3) }

// pause waits before a try, but not before the first one. It fails if ctx or the store ends.
func (s *Store) pause(ctx context.Context, try int) error {
	if try == 0 {
		select {
		case <-s.ctx.Done():
			return ErrClosed
		default:
			return context.Cause(ctx)
		}
	}
	d := min(minPause<<min(try-1, 10), maxPause)
	return s.wait(ctx, d/2+rand.N(d/2))
}

// wait waits for a time. It fails if ctx or the store ends.
func (s *Store) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.ctx.Done():
		return ErrClosed
	}
}
