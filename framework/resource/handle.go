package resource

import (
	"fmt"
	"iter"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Spec declares a resource type. Its fields are those of [Descriptor], but its functions are
// typed, so that a decoder and a handle of different updates do not compile.
type Spec[U Update] struct {
	Name       string
	Complete   bool
	Wildcard   bool
	Globs      bool
	Collection string
	PeekName   func(body []byte) (string, error)
	Decode     func(dc *DecodeContext, body []byte) (U, error)
	NewShard   func() Shard
}

// A TypeOf is the handle of a resource type whose updates are of type U. It is a value to copy
// and compare. The methods of the zero value return [ErrUnknownType] or nothing.
type TypeOf[U Update] struct{ d *Descriptor }

// A Type is a handle for code that works with updates of any type. Each [TypeOf] is one. Only
// this package implements it, so that it can grow.
type Type interface {
	// Name returns the full name of the type's message; "" for a zero handle.
	Name() string
	// URL returns the type URL; "" for a zero handle.
	URL() string
	// Ref returns a reference to a resource of the type. It parses the name as c does.
	Ref(c Client, name string) (Ref, error)
	descriptor() *Descriptor
}

// Define returns the handle of a type. Call it once per type: two handles are equal only if
// they come from the same call.
func Define[U Update](s Spec[U]) TypeOf[U] {
	d := &Descriptor{
		Name: s.Name, Complete: s.Complete, Wildcard: s.Wildcard, Globs: s.Globs, Collection: s.Collection,
		PeekName: s.PeekName, NewShard: s.NewShard,
	}
	if s.Decode != nil {
		d.Decode = func(dc *DecodeContext, body []byte) (Update, error) {
			u, err := s.Decode(dc, body)
			if err != nil {
				return nil, err // not a typed nil
			}
			return u, nil
		}
	}
	return TypeOf[U]{d}
}

// Describe returns the descriptor of a type; nil for a nil Type or a zero handle.
func Describe(t Type) *Descriptor {
	if t == nil {
		return nil
	}
	return t.descriptor()
}

// Handle returns the handle of a descriptor for updates of any type.
func (t *Descriptor) Handle() TypeOf[Update] { return TypeOf[Update]{t} }

func (t TypeOf[U]) descriptor() *Descriptor { return t.d }

// Any returns the handle for code that works with updates of any type.
func (t TypeOf[U]) Any() TypeOf[Update] { return TypeOf[Update](t) }

// Name implements [Type].
func (t TypeOf[U]) Name() string {
	if t.d == nil {
		return ""
	}
	return t.d.Name
}

// URL implements [Type].
func (t TypeOf[U]) URL() string {
	if t.d == nil {
		return ""
	}
	return t.d.URL()
}

// Ref implements [Type].
func (t TypeOf[U]) Ref(c Client, name string) (Ref, error) {
	src, err := t.from(c)
	if err != nil {
		return Ref{}, err
	}
	n, err := src.ParseName(name)
	return Ref{Type: t.Name(), Name: n}, err
}

// Register adds the type to a registry. Freeze reports errors.
func (t TypeOf[U]) Register(r Registrar) { r.Register(t) }

// Cast returns u as an update of this type.
func (t TypeOf[U]) Cast(u Update) (U, bool) {
	v, ok := u.(U)
	return v, ok
}

var (
	errNoType   = fmt.Errorf("resource: %w: the handle is a zero value; use the Type function of a generated package", ErrUnknownType)
	errNoClient = fmt.Errorf("resource: %w: the client is a zero value; use its constructor", ErrClosed)
)

// from returns the source of a client.
func (t TypeOf[U]) from(c Client) (Source, error) {
	if t.d == nil {
		return nil, errNoType
	}
	s := sourceOf(c)
	if s == nil {
		return nil, errNoClient
	}
	return s, nil
}

// Lookup returns the cached update of a name. It subscribes to nothing: only watched resources
// are cached. A malformed name is not cached.
func (t TypeOf[U]) Lookup(c Client, name string) (U, bool) {
	if src, err := t.from(c); err == nil {
		if n, err := src.ParseName(name); err == nil {
			return t.LookupName(c, n)
		}
	}
	var none U
	return none, false
}

// LookupName is Lookup for a parsed name. It takes no lock and allocates nothing.
func (t TypeOf[U]) LookupName(c Client, name xdstp.Name) (U, bool) {
	var none U
	src, err := t.from(c)
	if err != nil {
		return none, false
	}
	s := src.Shard(t.d, name)
	if s == nil {
		return none, false
	}
	u, ok := s.Load(name)
	if !ok {
		return none, false
	}
	return t.Cast(u)
}

// All yields the cached updates of the type, of all authorities.
func (t TypeOf[U]) All(c Client) iter.Seq[U] { return t.each(c, Shard.All) }

// Referring yields the cached updates of the type that refer to r.
func (t TypeOf[U]) Referring(c Client, r Ref) iter.Seq[U] {
	return t.each(c, func(s Shard) iter.Seq[Update] { return s.Referrers(r) })
}

func (t TypeOf[U]) each(c Client, of func(Shard) iter.Seq[Update]) iter.Seq[U] {
	return func(yield func(U) bool) {
		src, err := t.from(c)
		if err != nil {
			return
		}
		for s := range src.Shards(t.d) {
			for u := range of(s) {
				if v, ok := t.Cast(u); ok && !yield(v) {
					return
				}
			}
		}
	}
}
