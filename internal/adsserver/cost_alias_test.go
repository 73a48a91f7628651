package adsserver

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

// aliasCosts are the costs of resources with aliases that appear, are sent and are removed: for clients that subscribe to
// all of them, and for one that subscribes to each alias.
func aliasCosts() []cost {
	everything := func(int) proto.Message { return deltaOf([]string{source.Wildcard}, nil) }
	whole := func(int) proto.Message { return wholeOf(nil) }
	each := func(n int) proto.Message { return deltaOf(numbered("alias-%06d", n), nil) }
	var list []cost
	for _, x := range []struct {
		name  string
		delta bool
		first func(n int) proto.Message
	}{{"all", true, everything}, {"all, whole", false, whole}, {"each", true, each}} {
		list = append(list, cost{"aliases/" + x.name, func(b *testing.B, n int) time.Duration {
			st := costStream(b, StreamOptions{Delta: x.delta}, x.first(n))
			appear := source.Change{Epoch: "e", Revision: 1, Complete: []source.Interest{{Type: clusterURL, Name: source.Wildcard}}}
			leave := source.Change{Epoch: "e", Revision: 2}
			for i := range n {
				r := put(clusterURL, fmt.Sprintf("name-%06d", i), "1")
				r.Aliases = []string{fmt.Sprintf("alias-%06d", i)}
				appear.Put = append(appear.Put, r)
				leave.Delete = append(leave.Delete, r.Key)
			}
			return timed(func() {
				for _, change := range []source.Change{appear, leave} {
					if err := st.core.feed.Apply(change); err != nil {
						b.Fatal(err)
					}
					if st.readAll() == 0 {
						b.Fatal("the change causes no response")
					}
				}
			})
		}})
	}
	return list
}

// readAll reads the responses that there are, and returns their number.
func (st *Stream) readAll() (n int) {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for ; ; n++ {
		if _, err := st.Next(ended); err != nil {
			return n
		}
	}
}
