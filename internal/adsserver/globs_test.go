package adsserver

import (
	"slices"
	"testing"
	"testing/synctest"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/source"
)

// In the delta protocol, each subscription to a glob is answered: by a member, or explicitly if it has none, whatever
// the client has from an earlier stream.
func TestGlobsAreAnswered(t *testing.T) {
	const all, member, gone = glob + "*", glob + "a", glob + "gone"
	for _, claims := range [][]string{nil, {member}, {gone}, {member, gone}} {
		for _, has := range []string{"nothing", "a member", "an error"} {
			for _, names := range [][]string{{all}, {all, member}, {member, all}, {all, gone}} {
				for _, later := range []bool{false, true} {
					synctest.Test(t, func(t *testing.T) {
						m, c := newCore(t, Config{})
						r := put(clusterURL, member, "1")
						switch has {
						case "a member":
							commit(t, m, new(source.Tx).Put(r))
						case "an error":
							commit(t, m, new(source.Tx).Put(source.Resource{Key: r.Key, Err: &rpcstatus.Status{Code: 14, Message: "x"}}))
						}
						st, err := c.Open(true)
						if err != nil {
							t.Fatal(err)
						}
						n := &naive{t: t, core: c, delta: true, stream: st}
						versions := make(map[string]string)
						for _, name := range claims {
							versions[name] = source.Version(&r)
						}
						first := names
						if later {
							first = names[:1]
						}
						if err := st.Request(encoded(t, claiming(clusterURL, versions, first...))); err != nil {
							t.Fatal(err)
						}
						synctest.Wait()
						got := n.readDelta(t)
						if later {
							if err := st.Request(encoded(t, claiming(clusterURL, nil, names[1:]...))); err != nil {
								t.Fatal(err)
							}
							synctest.Wait()
							got = append(got, n.readDelta(t)...)
						}
						var removed, sent, failed []string
						for _, r := range got {
							removed = append(removed, r.GetRemovedResources()...)
							for _, x := range r.GetResources() {
								sent = append(sent, x.GetName())
							}
							for _, x := range r.GetResourceErrors() {
								failed = append(failed, x.GetResourceName().GetName())
							}
						}
						if (has == "nothing") != slices.Contains(removed, all) {
							t.Errorf("claims %v, the glob has %s, names %v, later %t: sent %v, removed %v, failed %v", claims, has, names, later, sent, removed, failed)
						}
					})
				}
			}
		}
	}
}
