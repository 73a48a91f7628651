package xdstest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// patience is how long the Want methods wait. It is the bubble's time in a bubble.
const patience = 10 * time.Second

// await waits until done returns true, and reports whether it did in time.
func (c *ControlPlane) await(done func() bool) bool {
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
	return c.server.Await(ctx, done) == nil
}

// WantSubscribed waits until a client subscribes to a name, or to "*" or a glob collection if the
// name is one. It fails the test after 10 s.
func (c *ControlPlane) WantSubscribed(typ resource.Type, name string) {
	c.t.Helper()
	s := c.of(typ)
	if !c.await(func() bool { return slices.Contains(c.server.SubscribedTo(s.URL()), name) }) {
		c.t.Fatalf("xdstest: no client subscribes to the %s %q after %v; %d open streams subscribe to %q",
			s.ShortName(), name, patience, c.server.Open(), c.server.SubscribedTo(s.URL()))
	}
}

// WantAccepted waits until at least one client subscribes to the type and every such client is up
// to date. A client is up to date if it has accepted the newest state of its resources and answered
// all responses of the type. It fails the test after 10 s.
func (c *ControlPlane) WantAccepted(typ resource.Type) {
	c.t.Helper()
	s := c.of(typ)
	var why string
	if !c.await(func() (ok bool) { ok, why = c.server.Accepted(s.URL()); return ok }) {
		c.t.Fatalf("xdstest: not every client has accepted the newest %s after %v: %s", s.ShortName(), patience, why)
	}
}

// WantRejected waits until a client has rejected a response of the type with a message that
// contains each of the texts. It returns the first such message, which may be older than the call.
// It fails the test after 10 s.
func (c *ControlPlane) WantRejected(typ resource.Type, texts ...string) string {
	c.t.Helper()
	s := c.of(typ)
	var found string
	if c.await(func() bool {
		messages := c.server.Rejections(s.URL())
		i := slices.IndexFunc(messages, func(m string) bool {
			return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(m, text) })
		})
		if i >= 0 {
			found = messages[i]
		}
		return i >= 0
	}) {
		return found
	}
	messages := c.server.Rejections(s.URL())
	if len(messages) == 0 {
		_, why := c.server.Accepted(s.URL())
		c.t.Fatalf("xdstest: no client has rejected a %s after %v; %d open streams subscribe to %q; %s",
			s.ShortName(), patience, c.server.Open(), c.server.SubscribedTo(s.URL()), why)
	}
	c.t.Fatalf("xdstest: no client has rejected a %s with %q after %v; the rejections are:\n%s",
		s.ShortName(), texts, patience, strings.Join(messages, "\n"))
	return ""
}
