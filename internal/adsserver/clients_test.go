package adsserver

import (
	"sync"
	"testing"
	"testing/synctest"
)

// The states of all streams are read in parts, so that a change waits for one part. Only one reader waits for the lock of
// the core: the others wait for that reader.
func TestClientsAreReadInParts(t *testing.T) {
	const streams, part, readers = 25, 10, 8
	for name, read := range map[string]func(c *Core) int{
		"clients": func(c *Core) int { return len(c.Clients()) },
		"lags":    func(c *Core) int { return c.Lags()[clusterURL].Streams },
	} {
		synctest.Test(t, func(t *testing.T) {
			_, c := newCore(t, Config{})
			for range streams {
				st, err := c.Open(true)
				if err != nil {
					t.Fatal(err)
				}
				if err := st.Request(encoded(t, deltaOf([]string{"a"}, nil))); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait() // the source has answered, so that only readers take the lock
			parts := 0
			c.part, c.between = part, func() {
				parts++ // the race detector finds readers at the same time
				if c.reading.TryLock() {
					t.Errorf("%s: another reader may wait for the lock of the core at the same time", name)
				}
				if !c.mu.TryLock() {
					t.Errorf("%s: the lock of the core is held between two parts", name)
					return
				}
				c.mu.Unlock()
			}
			var group sync.WaitGroup
			for range readers {
				group.Go(func() {
					if n := read(c); n != streams {
						t.Errorf("%s: %d of %d streams are read", name, n, streams)
					}
				})
			}
			group.Wait()
			if want := readers * ((streams + part - 1) / part); parts < want {
				t.Errorf("%s: the lock is given back %d times, want at least %d", name, parts, want)
			}
		})
	}
}
