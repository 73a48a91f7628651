package xdstest

import (
	"testing"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/adslog"
	"github.com/xdsforge/xdsforge/internal/controlplane"
)

// Start runs a control plane on loopback until the test ends. It serves resources of the given
// types by both variants of the ADS protocol, without TLS, to clients in any language. It is the
// server of go-control-plane, which knows "*" but no glob collections (xRFC TP1).
func Start(t testing.TB, types ...resource.Type) *ControlPlane {
	t.Helper()
	c := newControlPlane(t, types)
	names := make([]string, 0, len(c.types))
	kinds := make(map[string]adslog.Kind)
	for name, d := range c.types {
		names = append(names, name)
		kinds[d.URL()] = adslog.Kind{Name: d.PeekName, Complete: d.Complete}
	}
	s, err := controlplane.Start(names)
	c.check(err)
	c.log = s.Follow(kinds)
	t.Cleanup(s.Stop)
	c.backend, c.uri = loopback{s}, s.Addr()
	return c
}

// loopback is the backend of Start.
type loopback struct{ s *controlplane.Server }

func (l loopback) set(_ *resource.Descriptor, name string, m proto.Message, _ []byte) error {
	return l.s.Set(name, proto.Clone(m))
}

func (l loopback) setError(d *resource.Descriptor, name string, problem *rpcstatus.Status) error {
	return l.s.SetError(d.Name, name, problem)
}

func (l loopback) remove(d *resource.Descriptor, name string) error { return l.s.Delete(d.Name, name) }
func (l loopback) disconnect(err error)                             { l.s.Disconnect(err) }
func (l loopback) reconnect()                                       { l.s.Reconnect() }
func (l loopback) hold() (release func())                           { return l.s.HoldResponses() }
