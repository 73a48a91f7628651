package source

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
)

// A tape is a sink that keeps all changes, and calls a function with each.
type tape struct {
	changes []Change
	applied func(n int)
}

func (r *tape) Apply(c Change) error {
	r.changes = append(r.changes, c)
	r.applied(len(r.changes))
	return nil
}

func (*tape) State(State) {}

func filled(i int) Key { return Key{"type.googleapis.com/T", fmt.Sprintf("r%05d", i)} }

// A new interest in many resources is reported in parts. A commit meanwhile is reported at once and as a whole, and so
// are other interests.
func TestInterestInManyResources(t *testing.T) {
	for _, name := range []string{Wildcard, Everything} {
		synctest.Test(t, func(t *testing.T) {
			const n = 2*fillPart + 10
			m, tx := NewMemory(), new(Tx)
			for i := range n {
				tx.Put(Resource{Key: filled(i), Body: []byte("1")})
			}
			if _, err := m.Commit(t.Context(), tx); err != nil {
				t.Fatal(err)
			}
			all, one := Interest{filled(0).Type, name}, Interest(filled(7))
			var s Session
			r := &tape{}
			r.applied = func(at int) {
				if at != 1 {
					return
				}
				tx := new(Tx).Put(Resource{Key: filled(0), Body: []byte("2")}).Put(Resource{Key: filled(n - 1), Body: []byte("2")}).Delete(filled(n - 2))
				if _, err := m.Commit(t.Context(), tx); err != nil {
					t.Error(err)
				}
				s.Want([]Interest{one}, nil)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var err error
			if s, err = m.Open(ctx, r); err != nil {
				t.Fatal(err)
			}
			s.Want([]Interest{all}, nil)
			synctest.Wait()
			if len(r.changes) != 3 {
				t.Fatalf("%d changes, want 3", len(r.changes))
			}
			last := make(map[string]string)
			for i, c := range r.changes {
				if len(c.Put) > fillPart+3 || !slices.IsSortedFunc(c.Put, func(a, b Resource) int { return compareKeys(a.Key, b.Key) }) {
					t.Errorf("change %d has %d resources, want at most %d in the order of their keys", i, len(c.Put), fillPart+3)
				}
				for _, p := range c.Put {
					last[p.Name] = string(p.Body)
				}
				for _, k := range c.Delete {
					delete(last, k.Name)
				}
				if want := [][]Interest{nil, {one}, {all}}[i]; !slices.Equal(c.Complete, want) {
					t.Errorf("change %d completes %v, want %v", i, c.Complete, want)
				}
				both := last[filled(0).Name] == "2" && last[filled(n-1).Name] == "2"
				if both != (i > 0) {
					t.Errorf("after change %d, both resources of the commit are reported: %t", i, both)
				}
			}
			if len(last) != n-1 {
				t.Errorf("%d resources are reported, want %d", len(last), n-1)
			}
			s.Want(nil, []Interest{all, one})
			s.Want([]Interest{all}, nil)
			s.Want(nil, []Interest{all}) // ends the fill
			synctest.Wait()
			if len(r.changes) != 3 {
				t.Errorf("an interest that has ended is reported")
			}
		})
	}
}
