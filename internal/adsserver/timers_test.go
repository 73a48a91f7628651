package adsserver

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A distant expiry that is renewed again and again does not make the timers grow.
func TestRenewalsDoNotGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		n := newNaive(t, c, true)
		n.change(clusterURL, []string{"a", "b"}, nil)
		for range 5000 {
			tx := new(source.Tx)
			for _, name := range []string{"a", "b"} {
				r := put(clusterURL, name, "1")
				r.Expires = time.Now().Add(24 * time.Hour)
				tx.Put(r)
			}
			commit(t, m, tx)
			n.read()
			pass(time.Second)
		}
		c.mu.Lock()
		length := len(c.timers.queue)
		c.mu.Unlock()
		if length > 100 {
			t.Errorf("the timers have %d times for two resources", length)
		}
		pass(24*time.Hour - 2*time.Second)
		n.read()
		if got := n.of(clusterURL).has; len(got) != 2 {
			t.Errorf("before its expiry, the client has %v", got)
		}
		pass(2 * time.Second)
		n.read()
		if got := n.of(clusterURL).has; len(got) != 0 {
			t.Errorf("after its expiry, the client has %v", got)
		}
	})
}
