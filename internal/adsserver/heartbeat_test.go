package adsserver

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A client that subscribes to an alias alone receives heartbeats, and one that has both names receives one at a time.
func TestHeartbeatsByAlias(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		one, both := newNaive(t, c, true), newNaive(t, c, true)
		one.change(clusterURL, []string{"alias"}, nil)
		both.change(clusterURL, []string{"a", "alias"}, nil)
		r := put(clusterURL, "a", "1")
		r.TTL, r.Aliases = 6*time.Second, []string{"alias"}
		commit(t, m, new(source.Tx).Put(r))
		for _, n := range []*naive{one, both} {
			n.read()
		}
		pass(2 * time.Second)
		for name, n := range map[string]*naive{"the alias": one, "both names": both} {
			beats := n.readDelta(t)
			if len(beats) != 1 || len(beats[0].GetResources()) != 1 || beats[0].GetResources()[0].GetResource() != nil {
				t.Errorf("a client of %s received %v after 2 s, want one heartbeat", name, beats)
			}
		}
	})
}
