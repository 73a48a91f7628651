package client_test

import (
	"testing"
	"testing/synctest"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsserver"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsmemory"
)

// newCoreThings returns a client of things and their lists, the source of its server, and the server.
func newCoreThings(t *testing.T, features ...any) (*client.Client, *source.Memory, *adsserver.Core) {
	t.Helper()
	types, err := resource.NewSet(things)
	if err != nil {
		t.Fatal(err)
	}
	m := source.NewMemory()
	core, err := adsserver.New(adsserver.Config{Source: m, Type: adsserver.TypesOf(types)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = core.Close() })
	e := server("memory:1", features...)
	spec := bootstrap.Spec{Servers: []bootstrap.ServerSpec{e}, Authorities: map[string]bootstrap.AuthoritySpec{"e": {Servers: []bootstrap.ServerSpec{e}}}}
	c, err := newWith(config(t, spec), types, withTransport(adsmemory.Transport{Core: core}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, m, core
}

// TestListCollectionOfACore expects a client to follow the list collections of the ADS core: located and
// inline members, changes of both, and removals of entries, of a member and of the list.
func TestListCollectionOfACore(t *testing.T) {
	const (
		name = "xdstp://e/test.ThingCollection/all?p=q"
		far  = "xdstp://e/test.Thing/far?k=v%20w"
	)
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, m, _ := newCoreThings(t, protocol)
				commit := func(tx *source.Tx) {
					t.Helper()
					if _, err := m.Commit(t.Context(), tx); err != nil {
						t.Fatal(err)
					}
				}
				setThing := func(tag string) *source.Tx {
					return new(source.Tx).Put(source.Resource{Key: source.Key{Type: things.URL(), Name: far}, Body: thing(far, tag).Body})
				}
				list := source.Key{Type: listURL, Name: name}
				setList := func(tx *source.Tx, entries ...*xdscorev3.CollectionEntry) {
					commit(tx.Put(source.Resource{Key: list, Body: listOf(t, name, entries...).Body}))
				}
				// In state of the world, a server cannot say that a list does not exist.
				absent, removed := []string{"! does not exist"}, []string{"~ removed by the control plane"}
				if protocol == "" {
					absent, removed = nil, nil
				}
				l := collect(t, c, name)
				l.wants(absent...)
				setList(setThing("1"), locatorOf("far"), inlineOf("x", "xdstp://e/test.Thing/near", "1"), inlineOf("y", "", "1"))
				l.wants("far?k=v%20w=1", "near=1", "y?p=q=1")
				commit(setThing("2"))
				l.wants("far?k=v%20w=2")
				setList(setThing("3"), locatorOf("far"), inlineOf("x", "xdstp://e/test.Thing/near", "2"), inlineOf("y", "", "1"))
				l.wants("far?k=v%20w=3", "near=2", "y?p=q=1")
				setList(new(source.Tx), locatorOf("far"), inlineOf("x", "xdstp://e/test.Thing/near", "2"))
				l.wants("near=2", "y?p=q removed by the control plane")
				commit(new(source.Tx).Delete(source.Key{Type: things.URL(), Name: far}))
				l.wants("far?k=v%20w=3 removed by the control plane")
				setList(setThing("4"), inlineOf("x", "xdstp://e/test.Thing/near", "bad"))
				l.wants("far?k=v%20w=4", "~ invalid")
				setList(new(source.Tx), inlineOf("x", "xdstp://e/test.Thing/near", "3"))
				l.wants("far?k=v%20w removed by the control plane", "near=3")
				commit(new(source.Tx).Delete(list))
				l.wants(removed...)
			})
		})
	}
}
