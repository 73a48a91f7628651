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
	b, addr, err := newCoreBackend(c.types)
	c.check(err)
	t.Cleanup(b.stop)
	c.server, c.uri = b, addr
	return c
}

// InMemory returns a control plane without network and goroutines. It works in a bubble of testing/synctest. The test
// fails at its end if the client violated the ADS protocol. Only clients that are made with its Options can reach it.
func InMemory(t testing.TB, types ...resource.Type) *ControlPlane {
	t.Helper()
	c := newControlPlane(t, types)
	b := newCheckedBackend(c.types)
	c.server = b
	t.Cleanup(func() {
		if v := b.Violations(); len(v) > 0 {
			t.Errorf("xdstest: the client broke the protocol: %s", strings.Join(v, "; "))
		}
	})
	c.uri = "memory"
	c.transport = memoryads.Network{c.uri: b.Server}
	return c
}
