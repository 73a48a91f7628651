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

// typeURLPrefix precedes the message's full name in every type URL.
const typeURLPrefix = "type.googleapis.com/"

// Wildcard is the name that subscribes to all resources that the control plane has for its client.
const Wildcard = "*"

// Contract2RerunGoGenerateIfMissing checks at compile time that generated code fits this package.
// Code that was generated for another contract uses another constant. The compiler's error then
// contains the fix.
const Contract2RerunGoGenerateIfMissing = 2

// A Descriptor describes a resource type to the framework. Each generated package holds one. It
// never changes after registration.
type Descriptor struct {
	// Name is the full name of the message, as in
	// "envoy.config.cluster.v3.Cluster".
	Name string
	// Complete means that a state-of-the-world response contains every subscribed resource, so that
	// absence deletes. By the specification, this holds only for Listener and Cluster.
	Complete bool
	// Wildcard means that the type's [Wildcard] may be watched.
	Wildcard bool
	// Globs means that the type's xdstp glob collections may be watched (TP1).
	Globs bool
	// Collection is the full name of the message of the type's list collections, as in
	// "envoy.config.cluster.v3.ClusterCollection" (TP1). It is empty if the type has none.
	Collection string
	// PeekName reads the resource's name from its encoded message without decoding the rest. The name may
	// share the memory of body. PeekName is nil for messages without a name. Those need the wrapper
	// envoy.service.discovery.v3.Resource.
	PeekName func(body []byte) (string, error)
	// Decode decodes and validates one encoded message. It may keep body, which nobody changes
	// afterwards, but not dc. It returns a [*ValidationError], or the reason why the bytes cannot
	// be parsed.
	Decode func(dc *DecodeContext, body []byte) (Update, error)
	// NewShard returns an empty shard for the updates of one authority.
	NewShard func() Shard
}

// URL returns the type URL of requests and responses.
func (t *Descriptor) URL() string { return typeURLPrefix + t.Name }

// ShortName returns the last part of the message's name, such as "Cluster", for texts that people
// read.
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

// A Registrar collects the types and extensions of a program. Registration itself does not fail.
// The registrar keeps all errors and reports them when it is frozen.
type Registrar interface {
	Register(t Type)
	Extend(e Extension)
	// Fill adds an extension unless another one is registered for the same name.
	Fill(e Extension)
}

// A Shard stores the updates of one type and one authority. The client's event loop is the only
// writer. Load, Len, All and Referrers may be called from any goroutine at any time. They take no
// lock that a writer holds.
type Shard interface {
	Load(name xdstp.Name) (Update, bool)
	Store(u Update)
	Delete(name xdstp.Name)
	Len() int
	// All yields the stored updates in no particular order. Each of them was stored at some moment
	// during the iteration.
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

// arenas returns the arenas for resources of a type.
func (s *Set) arenas(message string) *wire.Pool {
	if s == nil {
		return nil
	}
	return s.pools[message]
}

// NewSet returns a set without extensions. It returns errors for types with the same name and for
// types that lack a required field. It reports all errors.
func NewSet(types ...*Descriptor) (*Set, error) { return new(Set).With(types...) }

// With returns a set with further types and the same extensions. It returns the errors of [NewSet].
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

// Lookup returns the type with this message name.
func (s *Set) Lookup(name string) (*Descriptor, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// LookupURL returns the type with this type URL. It ignores the part before the last slash, because
// the message's name identifies a type.
func (s *Set) LookupURL(url string) (*Descriptor, bool) {
	i := strings.LastIndexByte(url, '/')
	if i < 0 {
		return nil, false
	}
	return s.Lookup(url[i+1:])
}

// Index returns the position of t in All, or -1 if the set does not contain it.
func (s *Set) Index(t *Descriptor) int { return slices.Index(s.types, t) }

// Len returns the number of types.
func (s *Set) Len() int { return len(s.types) }

// All yields the types, ordered by name.
func (s *Set) All() iter.Seq2[int, *Descriptor] { return slices.All(s.types) }
