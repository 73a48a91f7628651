package statedir

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A file of an earlier version has an alias of another authority, and a resource with an invalid name. The other
// resources and aliases are served.
func TestFileWithWhatIsNoLongerAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := &snapshot{header: header{Epoch: "k", Revision: 1}, resources: []source.Resource{
			{Key: source.Key{Type: typeURL, Name: "a"}, Version: "1", Body: []byte("one"), Aliases: []string{"xdstp://e/test.Policy/victim", "alias"}},
			{Key: source.Key{Type: typeURL, Name: "b"}, Version: "1", Body: []byte("one")},
			{Key: source.Key{Type: typeURL, Name: "xdstp://e/test.Other/c"}, Version: "1", Body: []byte("one")},
		}}
		down := source.NewMemory()
		down.SetState(source.State{})
		down.SetState(source.State{Kind: source.Down, Err: errors.New("no route")})
		k := &kept{inner: down}
		k.old.Store(old)
		r := newReader()
		s, err := k.Open(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		s.Want(interests("alias", "b", "xdstp://e/test.Policy/victim", "xdstp://e/test.Other/c"), nil)
		r.expect(t, "start", source.Stale, map[string]string{
			"a": "one", "b": "one", "xdstp://e/test.Policy/victim": "error Unavailable", "xdstp://e/test.Other/c": "error Unavailable",
		})
		s.Want(nil, nil)
	})
}
