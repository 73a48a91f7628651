package plugintest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// patience is how long anything may take that takes no time.
const patience = 20 * time.Second

// testWatch watches a case with a real client: what is watched, looked up and got
// must be one, and what is rejected must be told to the control plane.
func (k *kit) testWatch(t *testing.T, c *testCase) {
	t.Helper()
	name, err := resourceName(k.Type, c.name, c.body)
	if err != nil {
		return // nobody can ask for it
	}
	s := &controlPlane{url: k.Type.URL(), name: name.String(), wrapped: c.name != "" || k.NameField == "", rejected: make(chan string, 16)}
	s.set(c.body)
	w := k.watch(t, s, name)
	if c.want[0] != "ok" {
		w.rejected(c.want)
		return
	}
	w.accepted(c.body)
	if k.NameField == "" || c.name != "" { // only a wrapper names what cannot be read
		s.set([]byte{0xff})
		w.kept(c.body)
	}
}

// A watched is a resource under watch.
type watched struct {
	t      *testing.T
	ctx    context.Context //nolint:containedctx // it ends with the test
	client *client.Client
	typ    *resource.Descriptor
	name   xdstp.Name
	server *controlPlane
	next   func() (resource.Update, error, bool)
}

// accepted checks that a valid resource arrives and is what everything returns.
func (w *watched) accepted(body []byte) {
	w.t.Helper()
	u, err, _ := w.next()
	if err != nil || u == nil || !bytes.Equal(u.Raw(), body) {
		w.t.Fatalf("Watch yields %v, %v; want the resource", u, err)
	}
	if found, ok := resource.Lookup[resource.Update](w.client, w.typ, u.Name()); !ok || found != u {
		w.t.Errorf("Lookup = %v, %v; Watch yielded %v", found, ok, u)
	}
	if found, ok := resource.LookupString[resource.Update](w.client, w.typ, w.name.String()); !ok || found != u {
		w.t.Errorf("LookupString = %v, %v; Watch yielded %v", found, ok, u)
	}
	if got, err := resource.Get[resource.Update](w.ctx, w.client, w.typ, w.name.String()); err != nil || got != u {
		w.t.Errorf("Get = %v, %v; Watch yielded %v", got, err, u)
	}
	found := false
	for other := range resource.All[resource.Update](w.client, w.typ) {
		found = found || other == u
	}
	if !found {
		w.t.Error("All does not yield what Watch did")
	}
	for r := range u.Refs() {
		found = false
		for other := range resource.Referring[resource.Update](w.client, w.typ, r) {
			found = found || other == u
		}
		if !found {
			w.t.Errorf("Referring does not yield the resource, which refers to %v", r)
		}
	}
}

// rejected checks that an invalid resource is none, and that the control plane
// learns of every violation.
func (w *watched) rejected(want []string) {
	w.t.Helper()
	u, err, _ := w.next()
	if u != nil || !errors.Is(err, resource.ErrInvalid) {
		w.t.Errorf("Watch yields %v, %v; want an invalid resource", u, err)
	}
	if found, ok := resource.Lookup[resource.Update](w.client, w.typ, w.name); ok {
		w.t.Errorf("Lookup = %v; the resource is invalid", found)
	}
	nack := <-w.server.rejected
	for _, line := range want {
		if !strings.Contains(nack, line) && !strings.HasSuffix(nack, "…") { // a long message is clipped
			w.t.Errorf("the control plane is told %q, which lacks %q", nack, line)
		}
	}
}

// kept checks that a resource stays when the next version of it is invalid.
func (w *watched) kept(body []byte) {
	w.t.Helper()
	u, err, _ := w.next()
	if !errors.Is(err, resource.ErrInvalid) || u == nil || !bytes.Equal(u.Raw(), body) {
		w.t.Errorf("Watch yields %v, %v; want the last valid resource beside an error", u, err)
	}
	if found, ok := resource.Lookup[resource.Update](w.client, w.typ, w.name); !ok || found != u {
		w.t.Errorf("Lookup = %v, %v; Watch yielded %v", found, ok, u)
	}
	<-w.server.rejected
}

// watch starts a client of the control plane that watches the resource, until the
// test ends.
func (k *kit) watch(t *testing.T, s *controlPlane, name xdstp.Name) *watched {
	t.Helper()
	c, err := client.New(clientConfig(t, name), k.types, client.WithTransport(s))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	next, stop := iter.Pull2(resource.Watch[resource.Update](ctx, c, k.Type, name.String()))
	t.Cleanup(func() {
		stop()
		cancel()
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &watched{t: t, ctx: ctx, client: c, typ: k.Type, name: name, server: s, next: next}
}

// clientConfig is a bootstrap configuration with one server, which the authority
// of the name has, too.
func clientConfig(t *testing.T, name xdstp.Name) *bootstrap.Config {
	t.Helper()
	servers := []any{map[string]any{"server_uri": "memory", "channel_creds": []any{map[string]any{"type": "insecure"}}}}
	file := map[string]any{"xds_servers": servers}
	if name.IsXdstp() {
		file["authorities"] = map[string]any{name.Authority(): map[string]any{}}
	}
	data, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	config, err := bootstrap.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return config
}
