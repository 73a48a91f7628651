package xdstest

import (
	"strings"
	"sync"
	"testing"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// InMemory returns a control plane without network and goroutines. It works in a bubble of testing/synctest. The test
// fails at its end if the client violated the ADS protocol. Only clients that are made with its Options can reach it.
func InMemory(t testing.TB, types ...resource.Type) *ControlPlane {
	t.Helper()
	c := newControlPlane(t, types)
	list := make([]memoryads.Type, 0, len(c.types))
	for _, d := range c.types {
		list = append(list, memoryads.Type{URL: d.URL(), Complete: d.Complete, Wildcard: d.Wildcard, Name: d.PeekName})
	}
	s := memoryads.NewServer(list...)
	c.log = s.Follow()
	t.Cleanup(func() {
		if v := s.Violations(); len(v) > 0 {
			t.Errorf("xdstest: the client broke the protocol: %s", strings.Join(v, "; "))
		}
	})
	c.backend, c.uri = memory{s}, "memory"
	c.transport = memoryads.Network{c.uri: s}
	return c
}

// memory is the backend of InMemory.
type memory struct{ s *memoryads.Server }

func (m memory) set(d *resource.Descriptor, name string, _ proto.Message, body []byte) error {
	m.s.Set(d.URL(), memoryads.Resource{Name: name, Body: body, Wrapped: d.PeekName == nil})
	return nil
}

func (m memory) setError(d *resource.Descriptor, name string, problem *rpcstatus.Status) error {
	m.s.Set(d.URL(), memoryads.Resource{Name: name, Error: problem})
	return nil
}

func (m memory) remove(d *resource.Descriptor, name string) error {
	m.s.Delete(d.URL(), name)
	return nil
}

func (m memory) disconnect(err error) {
	m.s.Refuse(err)
	m.s.Cut(err)
}

func (m memory) reconnect() { m.s.Refuse(nil) }

func (m memory) hold() (release func()) {
	m.s.Hold()
	return sync.OnceFunc(m.s.Release)
}
