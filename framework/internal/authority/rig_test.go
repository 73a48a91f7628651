package authority

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A response in the state of the world has all clusters. It may lack endpoints.
var (
	clusters  = &resource.Descriptor{Name: "test.Cluster", Complete: true, Decode: decode, NewShard: newShard}
	endpoints = &resource.Descriptor{Name: "test.Endpoint", Decode: decode, NewShard: newShard}
)

type update struct{ resource.Meta }

// Equal compares as a generated update does. An update with the body "self" depends on its server.
func (u *update) Equal(o *update) bool {
	same := bytes.Equal(u.Raw(), o.Raw())
	return same && (string(u.Raw()) != "self" || u.Server().Equal(o.Server()))
}

func decode(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
	return &update{dc.Meta(body)}, nil
}

func newShard() resource.Shard { return runtime.NewShard[*update]() }

// A rig runs one machine with a clock of its own. All tests of this package use the machine through it.
type rig struct {
	t   *testing.T
	pos string // in a script
	m   *Machine
	now time.Time

	watchers map[string]*watcher
	handles  map[string]Handle     // by type and watched name
	sent     map[string]*Unchanged // the last update of each resource and server

	prefix string // of lines of the output
	output strings.Builder
}

// newRig returns a rig with one server.
func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigOf(t, newServer(t, "server"))
}

func newRigOf(t *testing.T, servers ...*bootstrap.Server) *rig {
	t.Helper()
	types, err := resource.NewSet(clusters, endpoints)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{
		t: t, m: New(Config{Types: types, Servers: servers, NodeID: "node-1"}), now: time.Unix(0, 0),
		watchers: make(map[string]*watcher), handles: make(map[string]Handle), sent: make(map[string]*Unchanged),
	}
}

func newServer(t testing.TB, uri string, features ...string) *bootstrap.Server {
	t.Helper()
	quoted := make([]string, len(features))
	for i, f := range features {
		quoted[i] = strconv.Quote(f)
	}
	server, err := bootstrap.ParseServer([]byte(`{"server_uri": "` + uri + `", "channel_creds": [{"type": "insecure"}],
		"server_features": [` + strings.Join(quoted, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return server
}

func name(t testing.TB, s string) xdstp.Name {
	t.Helper()
	n, err := xdstp.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A watcher of a resource or a collection. The script prints its notifications.
type watcher struct {
	label string
	state resource.State // the newest
}

// Notify implements [Watcher].
func (w *watcher) Notify(s resource.State) { w.state = s }

// A gatherer is a watcher of a collection.
type gatherer struct{ *watcher }

// NotifyMember implements [CollectionWatcher].
func (gatherer) NotifyMember(xdstp.Name, resource.State) {}

// Any two scriptErrors are of the same kind.
type scriptError struct{ kind, text string }

func (e scriptError) Error() string {
	if e.text == "" {
		return e.kind
	}
	return e.kind + ": " + e.text
}

func (e scriptError) Is(target error) bool {
	other, ok := target.(scriptError)
	return ok && other.kind == e.kind
}

// known returns a record that the test knows.
func (t *typeRecords) known(name string) *record {
	r, _ := t.find(name)
	return r
}
