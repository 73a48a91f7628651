package xdstest

import (
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// Start runs a control plane on loopback until the test ends. It serves resources of the given
// types by both variants of the ADS protocol, without TLS, to clients in any language.
func Start(t testing.TB, types ...resource.Type) *ControlPlane {
	t.Helper()
	c := newControlPlane(t, types)
	addr, stop, err := c.server.Listen()
	c.check(err)
	t.Cleanup(stop)
	c.uri = addr
	return c
}

// InMemory returns a control plane without network and goroutines. It works in a bubble of testing/synctest. The test
// fails at its end if the client violated the ADS protocol. Only clients that are made with its Options can reach it.
func InMemory(t testing.TB, types ...resource.Type) *ControlPlane {
	t.Helper()
	c := newControlPlane(t, types)
	t.Cleanup(func() {
		if v := c.server.Violations(); len(v) > 0 {
			t.Errorf("xdstest: the client broke the protocol: %s", strings.Join(v, "; "))
		}
	})
	c.uri = "memory"
	c.transport = memoryads.Network{c.uri: c.server}
	return c
}
