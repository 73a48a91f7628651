package plugintest

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// patience is the time limit of a watch. The exchange itself takes no time.
const patience = 20 * time.Second

// testWatch watches a case with a real client. All ways to read a valid resource must return the same update. The
// client must report an invalid one to the control plane.
func (k *kit) testWatch(t *testing.T, c *testCase) {
	t.Helper()
	name, err := resourceName(k.typ, c.name, c.body)
	if err != nil {
		return // a client cannot subscribe to it
	}
	wrapped := c.name != "" || k.NameField == ""
	s := memoryads.NewServer(memoryads.Type{URL: k.typ.URL(), Complete: k.typ.Complete})
	s.Set(k.typ.URL(), memoryads.Resource{Name: name.String(), Body: c.body, Wrapped: wrapped})
	w := k.watch(t, s, name)
	if c.want[0] != "ok" {
		w.rejected(c.want)
		return
	}
	w.accepted(c.body)
	if wrapped { // only a wrapper names an unreadable resource
		s.Set(k.typ.URL(), memoryads.Resource{Name: name.String(), Body: []byte{0xff}, Wrapped: true})
		w.kept(c.body)
	}
}

// A watched is a resource under watch.
type watched struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // it ends with the test
	client *client.Client
	typ    resource.TypeOf[resource.Update]
	name   xdstp.Name
	server *memoryads.Server
	next   func() (resource.Event[resource.Update], bool)
}

// accepted checks that Watch yields a valid resource, and that every other access returns it.
func (w *watched) accepted(body []byte) {
	w.t.Helper()
	ev, _ := w.next()
	u := ev.Update
	if ev.Err != nil || ev.Ambient != nil || !ev.Changed || ev.Origin != resource.OriginPrimary || u == nil || !bytes.Equal(u.Raw(), body) {
		w.t.Fatalf("Watch yields %+v; want the resource, changed", ev)
	}
	if found, ok := w.typ.LookupName(w.client, u.Name()); !ok || found != u {
		w.t.Errorf("LookupName = %v, %v; Watch yielded %v", found, ok, u)
	}
	if found, ok := w.typ.Lookup(w.client, w.name.String()); !ok || found != u {
		w.t.Errorf("Lookup = %v, %v; Watch yielded %v", found, ok, u)
	}
	if got, err := w.typ.Get(w.ctx, w.client, w.name.String()); err != nil || got != u {
		w.t.Errorf("Get = %v, %v; Watch yielded %v", got, err, u)
	}
	if !slices.Contains(slices.Collect(w.typ.All(w.client)), u) {
		w.t.Error("All does not yield the update of Watch")
	}
	for r := range u.Refs() {
		if !slices.Contains(slices.Collect(w.typ.Referring(w.client, r)), u) {
			w.t.Errorf("Referring does not yield the resource, which refers to %v", r)
		}
	}
}

// rejected checks that an invalid resource is not returned, and that the control plane receives every violation.
func (w *watched) rejected(want []string) {
	w.t.Helper()
	if ev, _ := w.next(); ev.Update != nil || !errors.Is(ev.Err, resource.ErrInvalid) {
		w.t.Errorf("Watch yields %+v; want an invalid resource", ev)
	}
	if found, ok := w.typ.LookupName(w.client, w.name); ok {
		w.t.Errorf("LookupName = %v; the resource is invalid", found)
	}
	nack := w.rejection()
	for _, line := range want {
		if !strings.Contains(nack, line) && !strings.HasSuffix(nack, "…") { // a long message is clipped
			w.t.Errorf("the control plane is told %q, which lacks %q", nack, line)
		}
	}
}

// rejection waits for a NACK and returns its message.
func (w *watched) rejection() string {
	w.t.Helper()
	url := w.typ.URL()
	if w.server.Await(w.ctx, func() bool { return len(w.server.Rejections(url)) > 0 }) != nil {
		w.t.Fatal("the control plane is told nothing of an invalid resource")
	}
	return w.server.Rejections(url)[0]
}

// kept checks that a resource stays when its next version is invalid.
func (w *watched) kept(body []byte) {
	w.t.Helper()
	ev, _ := w.next()
	if !errors.Is(ev.Ambient, resource.ErrInvalid) || ev.Err != nil || ev.Changed || ev.Update == nil || !bytes.Equal(ev.Update.Raw(), body) {
		w.t.Errorf("Watch yields %+v; want the last valid resource and an ambient error", ev)
	}
	if found, ok := w.typ.LookupName(w.client, w.name); !ok || found != ev.Update {
		w.t.Errorf("LookupName = %v, %v; Watch yielded %+v", found, ok, ev)
	}
	w.rejection()
}

// watch starts a client of the control plane. The client watches the resource until the test ends.
func (k *kit) watch(t *testing.T, s *memoryads.Server, name xdstp.Name) *watched {
	t.Helper()
	c, err := client.New(clientConfig(t, name), k.types, client.Options{Transport: memoryads.Network{"memory": s}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	typ := k.typ.Handle()
	next, stop := iter.Pull(typ.Watch(ctx, c, name.String()))
	t.Cleanup(func() {
		stop()
		cancel()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &watched{t: t, ctx: ctx, client: c, typ: typ, name: name, server: s, next: next}
}

// clientConfig returns a bootstrap configuration with one server, which also serves the authority of the name.
func clientConfig(t *testing.T, name xdstp.Name) *bootstrap.Config {
	t.Helper()
	spec := bootstrap.Spec{Servers: []bootstrap.ServerSpec{{URI: "memory", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}}}}
	if name.IsXdstp() {
		spec.Authorities = map[string]bootstrap.AuthoritySpec{name.Authority(): {}}
	}
	config, err := bootstrap.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	return config
}
