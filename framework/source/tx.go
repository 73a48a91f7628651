package source

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A Revision counts the commits of a store, from 1. Zero stands for the state before the first one.
type Revision uint64

// ErrConflict is in the chain of the error of a transaction whose condition does not hold.
var ErrConflict = errors.New("the transaction conflicts with a later commit")

// Bounds of a transaction. A commit that exceeds one fails and changes nothing.
const (
	MaxName       = 8 << 10   // bytes of a name, an alias or a type URL
	MaxBody       = 16 << 20  // bytes of an encoded resource
	MaxAliases    = 100       // aliases of a resource
	MaxOperations = 1_000_000 // puts, deletes and conditions of a transaction
)

// A Tx is a transaction: puts and deletes that are committed together, and conditions. The zero Tx
// is empty. Its methods return it, so that calls can be chained. Of several operations on a key, the
// last one counts. A Tx is not safe for concurrent use.
type Tx struct {
	operations []Operation
	conditions []Condition
	whole      *Revision
}

// An Operation is a put or a delete of a [Tx].
type Operation struct {
	Resource // for a delete, only its Key is set
	Delete   bool
}

// A Condition is the expected revision of a resource: that of the commit that put it last, or zero
// if it must not exist.
type Condition struct {
	Key
	Revision Revision
}

// Put adds or replaces a resource. Without a version, it gets that of [Version]. The transaction
// keeps the slices of r, which nobody may change afterwards.
func (tx *Tx) Put(r Resource) *Tx {
	tx.operations = append(tx.operations, Operation{Resource: r})
	return tx
}

// Delete deletes a resource. It has no effect if the resource does not exist.
func (tx *Tx) Delete(k Key) *Tx {
	tx.operations = append(tx.operations, Operation{Resource: Resource{Key: k}, Delete: true})
	return tx
}

// If makes the commit fail with [ErrConflict] unless the resource has this revision. Zero demands
// that it does not exist.
func (tx *Tx) If(k Key, r Revision) *Tx {
	tx.conditions = append(tx.conditions, Condition{k, r})
	return tx
}

// IfUnchanged makes the commit fail with [ErrConflict] unless the whole store has this revision.
func (tx *Tx) IfUnchanged(r Revision) *Tx {
	tx.whole = &r
	return tx
}

// Operations returns the puts and deletes in their order. The caller must not change them.
func (tx *Tx) Operations() []Operation { return tx.operations }

// Conditions returns the conditions of [Tx.If]. The caller must not change them.
func (tx *Tx) Conditions() []Condition { return tx.conditions }

// Unchanged returns the revision of [Tx.IfUnchanged].
func (tx *Tx) Unchanged() (r Revision, ok bool) {
	if tx.whole == nil {
		return 0, false
	}
	return *tx.whole, true
}

// Check returns all violations of the bounds of a transaction, and all malformed names. Stores call
// it before they commit.
func (tx *Tx) Check() error {
	if n := len(tx.operations) + len(tx.conditions); n > MaxOperations {
		return fmt.Errorf("source: transaction = %d operations and conditions; must not be more than %d", n, MaxOperations)
	}
	var errs []error
	for i := range tx.operations {
		o := &tx.operations[i]
		if err := o.check(); err != nil {
			errs = append(errs, fmt.Errorf("source: operation %d, %s: %w", i+1, o.Key, err))
		}
	}
	for _, c := range tx.conditions {
		if err := c.check(); err != nil {
			errs = append(errs, fmt.Errorf("source: condition on %s: %w", c.Key, err))
		}
	}
	return errors.Join(errs...)
}

// String returns the type and the name, escaped and shortened.
func (k Key) String() string {
	return printable.Quote(k.Type[strings.LastIndexByte(k.Type, '/')+1:], printable.Short) + " " + printable.Quote(k.Name, printable.Short)
}

func (k Key) check() error {
	switch {
	case len(k.Type) > MaxName || len(k.Name) > MaxName:
		return fmt.Errorf("name = %d bytes, type = %d bytes; must not be more than %d", len(k.Name), len(k.Type), MaxName)
	case strings.IndexByte(k.Type, '/') < 0 || strings.HasSuffix(k.Type, "/"):
		return errors.New("type; must be a type URL, such as \"type.googleapis.com/envoy.config.cluster.v3.Cluster\"")
	}
	return checkName(k.Type, k.Name)
}

// checkName checks the name of one resource of a type.
func checkName(typeURL, name string) error {
	switch {
	case name == "" || name == Wildcard:
		return fmt.Errorf("name = %q; must be the name of one resource", name)
	case !utf8.ValidString(name):
		return errors.New("name; must be UTF-8")
	}
	n, err := xdstp.Parse(name)
	switch {
	case err != nil:
		return err
	case n.CheckType(typeURL[strings.LastIndexByte(typeURL, '/')+1:]) != nil:
		return n.CheckType(typeURL[strings.LastIndexByte(typeURL, '/')+1:])
	case n.IsGlob():
		return fmt.Errorf("name = %s; must be the name of one resource, and not of a glob collection", printable.Quote(name, printable.Short))
	case n.String() != name:
		return fmt.Errorf("name = %s; must be canonical, which is %s", printable.Quote(name, printable.Short), printable.Quote(n.String(), printable.Short))
	}
	return nil
}

func (o *Operation) check() error {
	if err := o.Key.check(); err != nil || o.Delete {
		return err
	}
	switch {
	case len(o.Body) > MaxBody:
		return fmt.Errorf("body = %d bytes; must not be more than %d", len(o.Body), MaxBody)
	case o.Err != nil && o.Body != nil:
		return errors.New("body; must be nil if the resource has an error")
	case o.TTL < 0:
		return fmt.Errorf("TTL = %v; must not be negative", o.TTL)
	case len(o.Aliases) > MaxAliases:
		return fmt.Errorf("aliases = %d; must not be more than %d", len(o.Aliases), MaxAliases)
	case len(o.Version) > MaxName:
		return fmt.Errorf("version = %d bytes; must not be more than %d", len(o.Version), MaxName)
	}
	for _, a := range o.Aliases {
		if len(a) > MaxName {
			return fmt.Errorf("alias = %d bytes; must not be more than %d", len(a), MaxName)
		}
		if err := checkName(o.Type, a); err != nil {
			return fmt.Errorf("alias: %w", err)
		}
		if !sameAuthority(o.Name, a) {
			return fmt.Errorf("alias = %s; must have the authority of the resource's name", printable.Quote(a, printable.Short))
		}
	}
	return nil
}

// sameAuthority reports whether two valid names have the same authority.
func sameAuthority(a, b string) bool {
	x, _ := xdstp.Parse(a)
	y, _ := xdstp.Parse(b)
	return x.SameAuthority(y)
}
