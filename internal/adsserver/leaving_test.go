package adsserver

import (
	"fmt"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A client that subscribes to names and their glob at once follows the names, although another stream is leaving the
// glob.
func TestSubscriptionWhileAnotherStreamLeaves(t *testing.T) {
	for _, delta := range []bool{false, true} {
		for _, closes := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				m, c := newCore(t, Config{})
				tx := new(source.Tx)
				for i := range 9 {
					tx.Put(put(clusterURL, fmt.Sprint(glob, i), "1"))
				}
				commit(t, m, tx)
				c.part = 4
				leaves, comes := newNaive(t, c, true), newNaive(t, c, delta)
				leaves.change(clusterURL, []string{glob + "*"}, nil)
				synctest.Wait()
				leaves.read()
				done := false
				c.between = func() {
					if !done {
						done = true
						c.part = 100
						subscribe := []string{glob + "0", glob + "8", glob + "*"}
						if delta {
							comes.change(clusterURL, subscribe, nil)
							return
						}
						for _, name := range subscribe {
							comes.of(clusterURL).names[name] = true
						}
						comes.send(&discoveryv3.DiscoveryRequest{TypeUrl: clusterURL, ResourceNames: subscribe}) // in this order
					}
				}
				if closes {
					leaves.stream.Close(nil)
				} else {
					leaves.change(clusterURL, nil, []string{glob + "*"})
				}
				synctest.Wait()
				comes.read()
				tx = new(source.Tx)
				for i := range 9 {
					tx.Put(put(clusterURL, fmt.Sprint(glob, i), "2"))
				}
				commit(t, m, tx)
				comes.read()
				comes.change(clusterURL, nil, []string{glob + "*"})
				comes.read()
				tx = new(source.Tx)
				for i := range 9 {
					tx.Put(put(clusterURL, fmt.Sprint(glob, i), "3"))
				}
				commit(t, m, tx)
				comes.read()
				for _, name := range []string{glob + "0", glob + "8"} {
					if got := comes.of(clusterURL).has[name]; got != name+"=3" {
						t.Errorf("delta = %t, closes = %t: the client has %q of %s", delta, closes, got, name)
					}
				}
			})
		}
	}
}
