package resource

import (
	"iter"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

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
