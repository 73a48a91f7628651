package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// A Rejected is the error of a transaction with invalid resources. Nothing of it was committed.
type Rejected struct { //nolint:errname // publish.Rejected says it
	Resources []RejectedResource
}

// A RejectedResource is an invalid resource of a transaction.
type RejectedResource struct {
	Key Key
	Err error // a *resource.ValidationError lists all violations
}

// Error returns a line for each resource.
func (r *Rejected) Error() string {
	lines := make([]string, 0, len(r.Resources))
	for _, x := range r.Resources {
		lines = append(lines, fmt.Sprintf("publish: %s: %v", x.Key, x.Err))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors of all resources.
func (r *Rejected) Unwrap() []error {
	errs := make([]error, 0, len(r.Resources))
	for _, x := range r.Resources {
		errs = append(errs, x.Err)
	}
	return errs
}

// An Option sets up a checked store.
type Option func(*checked)

// WithBootstrap decodes resources as clients with this bootstrap do. Names and certificate providers
// depend on it.
func WithBootstrap(c *bootstrap.Config) Option { return func(s *checked) { s.config = c } }

// WithReferences rejects a transaction if a resource that it puts refers to a resource that exists
// neither in the transaction nor in the store, or if it deletes a resource that another one of the
// transaction refers to. The store must have a method Get, as source.Memory has, or Lookup, as the
// store of etcd has.
func WithReferences() Option { return func(s *checked) { s.references = true } }

type checked struct {
	Store
	types      *resource.Set
	config     *bootstrap.Config
	references bool
}

// NewChecked returns a store that decodes all resources before it commits a transaction to s. A
// resource of a type that the set lacks is rejected. The error of a rejected transaction is a
// [*Rejected].
func NewChecked(s Store, types *resource.Set, opts ...Option) Store {
	c := &checked{Store: s, types: types}
	for _, o := range opts {
		o(c)
	}
	return c
}

// getter is a store that can be read.
type getter interface {
	Get(k Key) (source.Resource, Revision, bool)
}

// looker is a store that is read by requests. Revision 0 means that there is no such resource.
type looker interface {
	Lookup(ctx context.Context, k Key) (source.Resource, Revision, error)
}

// existence returns the function that looks for a resource in the store, or nil.
func (c *checked) existence(ctx context.Context) func(k Key) (bool, error) {
	switch s := c.Store.(type) {
	case getter:
		return func(k Key) (bool, error) { _, _, ok := s.Get(k); return ok, nil }
	case looker:
		return func(k Key) (bool, error) {
			_, revision, err := s.Lookup(ctx, k)
			return revision > 0, err
		}
	}
	return nil
}

var errUnreadable = errors.New("publish: WithReferences; must be used with a store that has a method Get or Lookup")

// Commit implements [Store].
func (c *checked) Commit(ctx context.Context, tx *Tx) (Revision, error) {
	inStore := c.existence(ctx)
	if c.references && inStore == nil {
		return 0, errUnreadable
	}
	if err := tx.Check(); err != nil {
		return 0, err
	}
	last := make(map[Key]int, len(tx.Operations())) // of several operations on a key, the last counts
	for i, o := range tx.Operations() {
		last[o.Key] = i
	}
	rejected := new(Rejected)
	updates := make(map[Key]resource.Update)
	for i := range tx.Operations() {
		o := &tx.Operations()[i]
		if o.Delete || o.Err != nil || last[o.Key] != i {
			continue
		}
		u, err := c.decode(&o.Resource)
		if err != nil {
			rejected.Resources = append(rejected.Resources, RejectedResource{o.Key, err})
			continue
		}
		updates[o.Key] = u
	}
	if c.references {
		exists := func(k Key) (bool, error) {
			if i, changed := last[k]; changed {
				return !tx.Operations()[i].Delete, nil
			}
			return inStore(k)
		}
		for _, o := range tx.Operations() {
			if u := updates[o.Key]; u != nil {
				if err := rejected.dangling(o.Key, u, exists); err != nil {
					return 0, err
				}
				delete(updates, o.Key)
			}
		}
	}
	if len(rejected.Resources) > 0 {
		return 0, rejected
	}
	return c.Store.Commit(ctx, tx)
}

// decode decodes a resource with the decoder of its type. A panic of the decoder is an error.
func (c *checked) decode(r *source.Resource) (u resource.Update, err error) {
	defer func() {
		if v := recover(); v != nil {
			u, err = nil, fmt.Errorf("the decoder panics: %v", v)
		}
	}()
	message := envelope.MessageName(r.Type)
	t, ok := c.types.Lookup(message)
	if !ok {
		return nil, fmt.Errorf("%w %s; register it", resource.ErrUnknownType, message)
	}
	dc := &resource.DecodeContext{Version: r.Version, Bootstrap: c.config, Types: c.types}
	if dc.Name, err = dc.ParseName(r.Name); err != nil {
		return nil, err
	}
	if t.PeekName != nil {
		if named, err := t.PeekName(r.Body); err != nil {
			return nil, err
		} else if n, err := dc.ParseName(named); err != nil || n != dc.Name {
			return nil, fmt.Errorf("name = %q in the message; must be that of the resource", named)
		}
	}
	u, err = t.Decode(dc, r.Body)
	if err == nil && u == nil {
		err = errors.New("the decoder returns nothing")
	}
	return u, err
}

// dangling rejects a resource for each reference to a resource that does not exist.
func (r *Rejected) dangling(k Key, u resource.Update, exists func(Key) (bool, error)) error {
	for ref := range u.Refs() {
		target := Key{Type: "type.googleapis.com/" + ref.Type, Name: ref.Name.String()}
		ok, err := exists(target)
		if err != nil {
			return fmt.Errorf("publish: reference to %s: %w", target, err)
		}
		if !ok {
			r.Resources = append(r.Resources, RejectedResource{k, fmt.Errorf("dangling reference to %s; must exist in the store or the transaction", target)})
		}
	}
	return nil
}
