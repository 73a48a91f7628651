package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
)

type (
	// A Tx is a transaction.
	Tx = source.Tx
	// A Revision counts the commits of a store.
	Revision = source.Revision
	// A Key identifies a resource.
	Key = source.Key
)

// ErrConflict is in the chain of the error of a transaction whose condition does not hold.
var ErrConflict = source.ErrConflict

// A Store commits transactions, and is a Source of the resources. [source.Memory] is one.
type Store interface {
	source.Source
	// Commit applies a transaction, all of it or nothing. The error has ErrConflict in its chain if a
	// condition does not hold.
	Commit(ctx context.Context, tx *Tx) (Revision, error)
}

// Put adds or replaces a resource under the name in its message.
func Put(ctx context.Context, s Store, t resource.Type, m proto.Message) (Revision, error) {
	tx := new(Tx)
	if err := AddTo(tx, t, m); err != nil {
		return 0, err
	}
	return s.Commit(ctx, tx)
}

// PutNamed adds or replaces a resource under a name, for messages without a name.
func PutNamed(ctx context.Context, s Store, t resource.Type, name string, m proto.Message) (Revision, error) {
	tx := new(Tx)
	if err := AddNamed(tx, t, name, m); err != nil {
		return 0, err
	}
	return s.Commit(ctx, tx)
}

// Delete deletes a resource. It has no effect if the resource does not exist.
func Delete(ctx context.Context, s Store, t resource.Type, name string) (Revision, error) {
	d := resource.Describe(t)
	if d == nil {
		return 0, errNoType
	}
	return s.Commit(ctx, new(Tx).Delete(Key{Type: d.URL(), Name: name}))
}

// AddTo adds the put of a resource to a transaction, under the name in its message.
func AddTo(tx *Tx, t resource.Type, m proto.Message) error {
	d := resource.Describe(t)
	switch {
	case d == nil:
		return errNoType
	case d.PeekName == nil:
		return fmt.Errorf("publish: a %s carries no name; use PutNamed or AddNamed", d.Name)
	}
	body, err := encode(d, m)
	if err != nil {
		return err
	}
	name, err := d.PeekName(body)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	tx.Put(source.Resource{Key: Key{Type: d.URL(), Name: strings.Clone(name)}, Body: body}) // the name must not keep the body in memory
	return nil
}

// AddNamed adds the put of a resource to a transaction, under a name.
func AddNamed(tx *Tx, t resource.Type, name string, m proto.Message) error {
	d := resource.Describe(t)
	if d == nil {
		return errNoType
	}
	body, err := encode(d, m)
	if err != nil {
		return err
	}
	tx.Put(source.Resource{Key: Key{Type: d.URL(), Name: name}, Body: body})
	return nil
}

var (
	errNoType    = errors.New("publish: the type is nil or a zero handle")
	errNoMessage = errors.New("publish: the message is nil")
)

// encode returns the deterministic encoding, so that equal messages have equal versions.
func encode(d *resource.Descriptor, m proto.Message) ([]byte, error) {
	if m == nil {
		return nil, errNoMessage
	}
	if got := string(m.ProtoReflect().Descriptor().FullName()); got != d.Name {
		return nil, fmt.Errorf("publish: message = %s; must be %s", got, d.Name)
	}
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("publish: %w", err)
	}
	if body == nil {
		body = []byte{}
	}
	return body, nil
}
