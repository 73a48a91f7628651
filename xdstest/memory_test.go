package xdstest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A checkedTest replaces a testing.TB. The caller decides when it ends.
type checkedTest struct {
	testing.TB
	cleanups []func()
	errors   []string
}

func (c *checkedTest) Helper()          {}
func (c *checkedTest) Cleanup(f func()) { c.cleanups = append(c.cleanups, f) }
func (c *checkedTest) Errorf(format string, args ...any) {
	c.errors = append(c.errors, fmt.Sprintf(format, args...))
}

// TestViolations expects a test to fail if the client violates the protocol.
func TestViolations(t *testing.T) {
	ct := &checkedTest{TB: t}
	cp := InMemory(ct, cluster.Type())
	conn, err := cp.transport.Dial(cp.Bootstrap().Servers()[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := conn.OpenStream(ctx, transport.MethodADS)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send([]byte{0xff}); err != nil {
		t.Fatal(err)
	}
	for _, f := range ct.cleanups {
		f()
	}
	if len(ct.errors) != 1 || !strings.Contains(ct.errors[0], "broke the protocol: stream 1: not a DiscoveryRequest") {
		t.Errorf("the test fails with %q; want the violation", ct.errors)
	}
}
