package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A State is the resources of a tenant at one revision.
type State struct {
	Revision  source.Revision // of the last commit
	Resources []Resource      // in the order of their keys
	Invalid   []error         // values that are not resources
}

// A Resource is a resource and the revision of the commit that put it last.
type Resource struct {
	source.Resource
	Revision source.Revision
}

// State returns the resources after the commit of a revision, or now if the revision is 0.
func (s *Store) State(ctx context.Context, at source.Revision) (*State, error) {
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	snap, err := s.read(ctx, s.client, int64(at)) //nolint:gosec // a revision of etcd
	if err != nil {
		return nil, err
	}
	out := &State{Revision: source.Revision(snap.generation)} //nolint:gosec // revisions are not negative
	now := time.Now()
	for _, e := range snap.entries {
		if at > 0 || e.alive(now) {
			out.Resources = append(out.Resources, Resource{e.Resource, source.Revision(e.revision)}) //nolint:gosec // revisions are not negative
		}
	}
	slices.SortFunc(out.Resources, func(a, b Resource) int {
		if c := strings.Compare(a.Type, b.Type); c != 0 {
			return c
		}
		return strings.Compare(a.Name, b.Name)
	})
	for _, err := range snap.invalid {
		out.Invalid = append(out.Invalid, err)
	}
	return out, nil
}

// A Commit is a transaction in the history.
type Commit struct {
	Revision source.Revision
	Time     time.Time // of the publisher's clock
	Author   string    // Options.Author of the publisher. Escape it before printing.
	Puts     int
	Deletes  int
	First    string // type and name of the first resource. Escape it before printing.
}

// maxHistory is the limit of commits that History returns.
const maxHistory = 10_000

// History returns the last commits, the newest first: at most limit, and at most 10,000. It ends where etcd has
// removed old revisions.
func (s *Store) History(ctx context.Context, limit int) ([]Commit, error) {
	if err := s.connect(ctx); err != nil {
		return nil, err
	}
	var list []Commit
	for revision := int64(0); len(list) < min(limit, maxHistory); {
		info, at, err := s.commitAt(ctx, revision)
		if errors.Is(err, rpctypes.ErrCompacted) || err == nil && at == 0 {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, Commit{source.Revision(at), info.Time, info.Author, info.Puts, info.Deletes, info.First}) //nolint:gosec // revisions are not negative
		if revision = at - 1; revision == 0 {
			return list, nil
		}
	}
	return list, nil
}

// RollbackTx returns a transaction that restores the resources of an earlier revision. It fails with
// [source.ErrConflict] if somebody commits before it. The error has the advice to keep more revisions if etcd has
// removed that one.
func (s *Store) RollbackTx(ctx context.Context, to source.Revision) (*source.Tx, error) {
	if to == 0 {
		return nil, errors.New("etcd: revision = 0; must be that of a commit")
	}
	old, err := s.State(ctx, to)
	if err != nil {
		return nil, fmt.Errorf("etcd: revision %d: %w", to, err)
	}
	now, err := s.State(ctx, 0)
	if err != nil {
		return nil, err
	}
	tx := new(source.Tx).IfUnchanged(now.Revision)
	has := make(map[source.Key]string, len(now.Resources))
	for i := range now.Resources {
		has[now.Resources[i].Key] = now.Resources[i].Version
	}
	for i := range old.Resources {
		r := old.Resources[i].Resource
		if version, ok := has[r.Key]; !ok || !source.SameVersion(version, r.Version) {
			tx.Put(r)
		}
		delete(has, r.Key)
	}
	for _, r := range now.Resources { // in their order
		if _, gone := has[r.Key]; gone {
			tx.Delete(r.Key)
		}
	}
	return tx, nil
}
