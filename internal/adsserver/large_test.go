package adsserver

import (
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

// While a stream handles a large request or ends, another client receives its change.
func TestOthersDoNotWaitForALargeRequest(t *testing.T) {
	const names = 20 * defaultPart
	many, others := numbered("name-%06d", names), numbered("other-%06d", names)
	members := new(source.Tx)
	for _, name := range numbered("member-%06d", names) {
		members.Put(put(clusterURL, name, "1"))
	}
	for name, test := range map[string]struct {
		delta bool
		first proto.Message // nil: none
		work  proto.Message // nil: the stream ends, or receives its response
	}{
		"delta: subscribe":                      {true, nil, deltaOf(many, nil)},
		"delta: unsubscribe":                    {true, deltaOf(many, nil), deltaOf(nil, many)},
		"delta: the wildcard":                   {true, nil, deltaOf([]string{"*"}, nil)},
		"delta: the wildcard ends":              {true, deltaOf([]string{"*"}, nil), deltaOf(nil, []string{"*"})},
		"delta: end":                            {true, deltaOf(many, nil), nil},
		"delta: end with the wildcard":          {true, deltaOf([]string{"*"}, nil), nil},
		"state of the world: subscribe":         {false, nil, wholeOf(many)},
		"state of the world: replace":           {false, wholeOf(many), wholeOf(others)},
		"state of the world: the wildcard":      {false, nil, wholeOf(nil)},
		"state of the world: the wildcard ends": {false, wholeOf(nil), wholeOf([]string{"name"})},
		"state of the world: end":               {false, wholeOf(many), nil},
		"state of the world: response":          {false, wholeOf(nil), nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, c := newCore(t, Config{})
			commit(t, m, members)
			victim := newNaive(t, c, true)
			victim.change(endpointURL, []string{"a"}, nil)
			keeper := newNaive(t, c, true) // has the core know all members
			keeper.change(clusterURL, []string{"*"}, nil)
			synctest.Wait()
			victim.read()
			st, err := c.OpenStream(StreamOptions{Delta: test.delta, Budget: &Budget{Names: 1 << 20, Bytes: 1 << 30}})
			if err != nil {
				t.Fatal(err)
			}
			if test.first != nil {
				if err := st.Request(encoded(t, test.first)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
			parts, got := 0, false
			c.between = func() {
				parts++
				if parts == 2 {
					commit(t, m, new(source.Tx).Put(put(endpointURL, "a", "1")))
					got = victim.next("") && victim.of(endpointURL).has["a"] == "a=1"
				}
			}
			if strings.HasSuffix(name, "response") {
				if _, err := st.Next(t.Context()); err != nil {
					t.Fatal(err)
				}
			} else if test.work == nil {
				st.Close(ErrClosed)
			} else if err := st.Request(encoded(t, test.work)); err != nil {
				t.Fatal(err)
			}
			if !got || parts < names/defaultPart-1 {
				t.Errorf("%s: the work has %d parts, and the other client receives its change meanwhile: %t", name, parts+1, got)
			}
			c.between = func() {}
		})
	}
}
