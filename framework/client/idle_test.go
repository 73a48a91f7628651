package client_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// goroutines returns how many goroutines run a function of package client.
func goroutines(function string) int {
	buf := make([]byte, 1<<20)
	return strings.Count(string(buf[:runtime.Stack(buf, true)]), "client."+function+"(")
}

// TestIdleClientHasOneGoroutine expects a client without work to have the reader of its stream, and
// neither a writer, an event loop nor an idle goroutine.
func TestIdleClientHasOneGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		c := newMemoryClient(t, m, clusters)
		f := follow(t.Context(), t, c, clusters, "a")
		s := <-m.streams
		synctest.Wait()
		if n := goroutines("(*stream).write"); n != 1 {
			t.Errorf("%d goroutines send requests while the control plane does not read, want 1", n)
		}
		go s.serve(t, cluster("a", "1"))
		f.value("1")
		pass(5 * time.Second)
		for function, want := range map[string]int{"(*stream).read": 1, "(*stream).write": 0, "(*loop).run": 0, "(*goroutinePool).work": 0} {
			if n := goroutines(function); n != want {
				t.Errorf("%d goroutines run %s in an idle client, want %d", n, function, want)
			}
		}
	})
}
