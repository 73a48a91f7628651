package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
)

const (
	globName   = "xdstp://e/test.Thing/dir/*"
	globMember = "xdstp://e/test.Thing/dir/m"
)

// A client has a resource by its name, loses the stream, and is asked for the collection of the resource. The server
// answers the collection, though the client has all members.
func TestNewCollectionOfHeldMembers(t *testing.T) {
	for _, protocol := range protocols {
		for member, all := range map[string]string{globMember: globName, "m": resource.Wildcard} {
			t.Run(protocol+" "+all, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, m, core := newCoreThings(t, protocol)
					tx := new(source.Tx).Put(source.Resource{Key: source.Key{Type: things.URL(), Name: member}, Body: thing(member, "1").Body})
					if _, err := m.Commit(t.Context(), tx); err != nil {
						t.Fatal(err)
					}
					stop, err := c.Subscribe(things, member, func(resource.State, resource.State) {})
					if err != nil {
						t.Fatal(err)
					}
					defer stop()
					pass(time.Minute)
					for range 2 { // the second stream breaks, too
						core.Refuse(errors.New("down"))
						core.Cut(errors.New("down"))
						synctest.Wait()
						o, err := c.ObserveCollection(things, all)
						if err != nil {
							t.Fatal(err)
						}
						core.Refuse(nil)
						ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
						synced := false
						for !synced {
							s, err := o.Next(ctx)
							if err != nil || errors.Is(s.Err, resource.ErrNotFound) {
								t.Errorf("the collection is %+v, %v; want it to be complete", s, err)
								break
							}
							synced = s.Synced
						}
						cancel()
						o.Stop()
					}
				})
			})
		}
	}
}

// A collection whose members are errors is answered by them. Nobody says that it is empty.
func TestCollectionOfErrors(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, m, _ := newCoreThings(t, protocol)
				tx := new(source.Tx).Put(source.Resource{Key: source.Key{Type: things.URL(), Name: globMember}, Err: &rpcstatus.Status{Code: 14, Message: "down"}})
				if _, err := m.Commit(t.Context(), tx); err != nil {
					t.Fatal(err)
				}
				l := collect(t, c, globName)
				l.wants("m not available from the control plane")
				pass(time.Minute)
				l.wants()
				if _, err := m.Commit(t.Context(), new(source.Tx).Delete(source.Key{Type: things.URL(), Name: globMember})); err != nil {
					t.Fatal(err)
				}
				l.wants("m does not exist")
				tx = new(source.Tx).Put(source.Resource{Key: source.Key{Type: things.URL(), Name: globMember}, Body: thing(globMember, "1").Body})
				if _, err := m.Commit(t.Context(), tx); err != nil {
					t.Fatal(err)
				}
				l.wants("m=1")
			})
		})
	}
}
