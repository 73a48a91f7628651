package xdstest

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Fake is a [resource.Client] without a control plane: the test says with [Emit] which events its
// watches yield. Each watch yields first the newest event, if there is one, and then every later
// one in order. A Fake joins no events, and it yields an event again that equals the one before.
//
// Lookups find the newest updates, watched or not. Use NewFake to make a Fake. It is safe for
// concurrent use.
type Fake struct {
	base
	source *fakeSource
}

// base is an alias, so that Fake has no exported field.
type base = resource.Base

// NewFake returns a client that knows no resource: watches wait for Emit. The types are for code
// that finds a type by the name of its message, such as tree.Watch, before the first event of the
// type.
func NewFake(types ...resource.Type) *Fake {
	s := newFakeSource()
	for _, typ := range types {
		if d := resource.Describe(typ); d != nil {
			s.learn(d)
		}
	}
	return &Fake{resource.NewBase(s), s}
}

// Close ends the watches of the Fake, as a client's Close does: their last event has
// xdsforge.ErrClosed. It returns nil.
func (f *Fake) Close() error {
	f.source.close()
	return nil
}

// Emit gives an event of a resource to the watches of its name and of its collections, now or when
// they begin. Set either Update or Err, as in the events of a client. The Fake works out Changed
// for each watch. An update has [resource.OriginPrimary] unless ev says otherwise.
//
// Under the name of a collection ("*", or one that ends in "/*"), Emit gives an event of the
// collection as a whole: Err or Ambient.
//
// Emit panics if the name is malformed, or if ev has both or neither of Update and Err.
func Emit[U resource.Update](f *Fake, typ resource.TypeOf[U], name string, ev resource.Event[U]) {
	d := resource.Describe(typ)
	if d == nil {
		panic("xdstest: Emit: the handle of the type is a zero value")
	}
	n, err := xdstp.Parse(name)
	if err == nil {
		err = n.CheckType(d.Name)
	}
	if err != nil {
		panic(fmt.Sprintf("xdstest: Emit: %v", err))
	}
	hasUpdate := !isNil(ev.Update)
	if isCollection(n) {
		if hasUpdate || (ev.Err == nil) == (ev.Ambient == nil) {
			panic(fmt.Sprintf("xdstest: Emit: an event of the collection %q has either Err or Ambient, and no Update", name))
		}
		f.source.collection(d, n, resource.CollectionState{Err: ev.Err, Ambient: ev.Ambient})
		return
	}
	if hasUpdate == (ev.Err != nil) {
		panic(fmt.Sprintf("xdstest: Emit: the event of %q has Update: %t, Err: %v; must have one of the two", name, hasUpdate, ev.Err))
	}
	s := resource.State{Err: ev.Err}
	if hasUpdate {
		s = resource.State{Update: ev.Update, Err: ev.Ambient, Origin: max(ev.Origin, resource.OriginPrimary)}
	}
	f.source.emit(d, n, s)
}

func isCollection(n xdstp.Name) bool { return n.String() == resource.Wildcard || n.IsGlob() }

// isNil reports whether an update is nil: generated ones are pointers.
func isNil(u resource.Update) bool {
	v := reflect.ValueOf(u)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// contains reports whether a collection has the member.
func contains(collection, member xdstp.Name) bool {
	if collection.String() == resource.Wildcard {
		return !member.IsXdstp()
	}
	return collection.Contains(member)
}

// errCannot says that a type has no collections of a kind.
func errCannot(d *resource.Descriptor, name string) error {
	if strings.HasSuffix(name, "*") {
		return fmt.Errorf("xdstest: %s has no such collection as %q; it is not declared for the type", d.Name, name)
	}
	return fmt.Errorf("xdstest: %q is no wildcard or glob collection of the type %s; a Fake knows no others", name, d.ShortName())
}
