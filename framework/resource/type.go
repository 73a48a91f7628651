package resource

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// TypeURLPrefix stands before the message's full name in every type URL.
const TypeURLPrefix = "type.googleapis.com/"

// Wildcard is the name under which everything is subscribed to that a control plane
// has for its client.
const Wildcard = "*"

// Contract2RerunGoGenerateIfMissing is the compile-time handshake between this
// package and generated code: generated code of another contract names another
// constant, and the compiler's error says what to run.
const Contract2RerunGoGenerateIfMissing = 2

// A Descriptor is a resource type as the framework sees it. Generated packages hold
// one; it is never changed after registration.
type Descriptor struct {
	// Name is the full name of the message, as in
	// "envoy.config.cluster.v3.Cluster".
	Name string
	// Complete says that a state-of-the-world response names every resource
	// that is subscribed to, so that absence deletes. By the specification that
	// is so for Listener and Cluster only.
	Complete bool
	// Wildcard says that the type's [Wildcard] may be watched.
	Wildcard bool
	// Globs says that its xdstp glob collections may be watched (TP1).
	Globs bool
	// Collection is the full name of the message of its list collections, as in
	// "envoy.config.cluster.v3.ClusterCollection" (TP1). Empty: it has none.
	Collection string
	// PeekName reads the resource's name from its encoded message without
	// decoding the rest. Nil for messages that carry no name; those need the
	// wrapper envoy.service.discovery.v3.Resource.
	PeekName func(body []byte) (string, error)
	// Decode decodes and validates one encoded message. It may keep body, which
	// nobody changes afterwards, but not dc. An error is a [*ValidationError]
	// or says why the bytes cannot be parsed.
	Decode func(dc *DecodeContext, body []byte) (Update, error)
	// NewShard makes an empty shard for the updates of one authority.
	NewShard func() Shard
}

// URL is the type URL that requests and responses carry.
func (t *Descriptor) URL() string { return TypeURLPrefix + t.Name }

// ShortName is the last part of the message's name, for messages to people:
// "Cluster".
func (t *Descriptor) ShortName() string { return t.Name[strings.LastIndexByte(t.Name, '.')+1:] }

func (t *Descriptor) check() error {
	switch {
	case t == nil:
		return errors.New("resource: a nil Descriptor")
	case t.Name == "":
		return errors.New("resource: Type.Name is empty; it must be the message's full name")
	case t.Decode == nil:
		return fmt.Errorf("resource: Type.Decode of %s is nil", t.Name)
	case t.NewShard == nil:
		return fmt.Errorf("resource: Type.NewShard of %s is nil", t.Name)
	}
	return nil
}

// A Registrar takes the types and extensions of a program. Registration cannot
// fail at the call: whatever is wrong is kept and reported when the registrar is
// frozen.
type Registrar interface {
	Register(t Type)
	Extend(e Extension)
	// Fill adds an extension where nobody registers another one for the same name.
	Fill(e Extension)
}

// A Shard keeps the updates of one type and one authority. The client's event
// loop is the only writer; Load, Len, All and Referrers may be called from any
// goroutine at any time and take no lock that a writer holds.
type Shard interface {
	Load(name xdstp.Name) (Update, bool)
	Store(u Update)
	Delete(name xdstp.Name)
	Len() int
	// All yields what was stored at some moment during the iteration, in no
	// particular order.
	All() iter.Seq[Update]
	// Referrers yields the updates that refer to r.
	Referrers(r Ref) iter.Seq[Update]
}

// A Set is the frozen set of a program's types and extensions. It is immutable.
type Set struct {
	types      []*Descriptor // ordered by name
	byName     map[string]*Descriptor
	regexes    *regexes
	costs      *wire.Costs
	pools      map[string]*wire.Pool // by the names of types
	extensions map[extensionKey]Extension
	profile    Profile
}

// arenas are those of the resources of a type.
func (s *Set) arenas(message string) *wire.Pool {
	if s == nil {
		return nil
	}
	return s.pools[message]
}

// NewSet makes a set without extensions. Types with the same name, and types that
// lack what the framework needs, are errors; all of them are reported.
func NewSet(types ...*Descriptor) (*Set, error) { return new(Set).With(types...) }

// With returns a set with further types, and the same extensions. Its errors are those
// of [NewSet].
func (s *Set) With(types ...*Descriptor) (*Set, error) {
	out := *s
	if s.regexes == nil {
		out.regexes, out.costs = new(regexes), new(wire.Costs)
	}
	out.types, out.byName = slices.Clone(s.types), make(map[string]*Descriptor, len(s.types)+len(types))
	maps.Copy(out.byName, s.byName)
	out.pools = make(map[string]*wire.Pool, len(out.byName))
	maps.Copy(out.pools, s.pools)
	var errs []error
	for _, t := range types {
		if err := t.check(); err != nil {
			errs = append(errs, err)
			continue
		}
		if _, ok := out.byName[t.Name]; ok {
			errs = append(errs, fmt.Errorf("resource: type %s is there twice", t.Name))
			continue
		}
		out.byName[t.Name], out.pools[t.Name] = t, new(wire.Pool)
		out.types = append(out.types, t)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	slices.SortFunc(out.types, func(a, b *Descriptor) int { return strings.Compare(a.Name, b.Name) })
	return &out, nil
}

// Lookup finds a type by its message's full name.
func (s *Set) Lookup(name string) (*Descriptor, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// LookupURL finds a type by its type URL. The part before the last slash is
// not looked at: the message's name is what identifies a type.
func (s *Set) LookupURL(url string) (*Descriptor, bool) {
	i := strings.LastIndexByte(url, '/')
	if i < 0 {
		return nil, false
	}
	return s.Lookup(url[i+1:])
}

// Index is the position of t in All, or -1 when it is not in the set.
func (s *Set) Index(t *Descriptor) int { return slices.Index(s.types, t) }

// Len is the number of types.
func (s *Set) Len() int { return len(s.types) }

// All yields the types, ordered by name.
func (s *Set) All() iter.Seq2[int, *Descriptor] { return slices.All(s.types) }
