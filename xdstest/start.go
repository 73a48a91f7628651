package xdstest

import (
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/adsserver/adsmemory"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// Start runs a control plane on loopback until the test ends. It serves resources of the given
// types by both variants of the ADS protocol, without TLS, to clients in any language.
func Start(t testing.TB, types ...resource.Type) *ControlPlane {
	t.Helper()
	c := newControlPlane(t, types)
	c.start()
	addr, err := c.server.listen()
	c.check(err)
	c.uri = addr
	return c
}

// InMemory returns a control plane without network. It works in a bubble of testing/synctest. The test fails at its
// end if the client violated the ADS protocol. Only clients that are made with its Options can reach it.
func InMemory(t testing.TB, types ...resource.Type) *ControlPlane {
	t.Helper()
	c := newControlPlane(t, types)
	c.start()
	checker := newChecker(c.types, adsmemory.Transport{Core: c.server.Core})
	t.Cleanup(func() {
		if v := checker.Violations(); len(v) > 0 {
			t.Errorf("xdstest: the client broke the protocol: %s", strings.Join(v, "; "))
		}
	})
	c.uri, c.transport = "memory", checker
	return c
}

// start starts the server. It ends with the test.
func (c *ControlPlane) start() {
	c.t.Helper()
	b, err := newBackend(c.types)
	c.check(err)
	c.t.Cleanup(b.stop)
	c.server = b
}

// newChecker returns a transport that checks the clients.
func newChecker(types map[string]*resource.Descriptor, next transport.Transport) *memoryads.Checker {
	kinds := make([]memoryads.Type, 0, len(types))
	byURL := make(map[string]*resource.Descriptor, len(types))
	for _, d := range types {
		kinds = append(kinds, memoryads.Type{URL: d.URL(), Complete: d.Complete, Wildcard: d.Wildcard})
		byURL[d.URL()] = d
	}
	return memoryads.NewChecker(next, func(url string, body []byte) string {
		if d := byURL[url]; d != nil && d.PeekName != nil {
			if name, err := d.PeekName(body); err == nil {
				return name
			}
		}
		return ""
	}, kinds...)
}
