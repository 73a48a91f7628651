package xdsforge_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/internal/memoryads"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const someBootstrap = `{"node": {"id": "n"}, "xds_servers": [{"server_uri": "memory", "channel_creds": [{"type": "insecure"}]}]}`

func parse(t *testing.T, text string) *bootstrap.Config {
	t.Helper()
	c, err := bootstrap.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newEnv(t *testing.T, opts ...xdsforge.Option) *xdsforge.Env {
	t.Helper()
	e, err := xdsforge.NewEnv(append([]xdsforge.Option{
		xdsforge.WithBootstrap(parse(t, someBootstrap)), xdsforge.WithTypes(cluster.Register), xdsforge.WithTransport(memoryads.Network{}),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func frozen(t *testing.T) *resource.Set {
	t.Helper()
	reg := registry.New()
	standard.Register(reg)
	set, err := reg.Freeze()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestMisuse expects errors that name the option to change.
func TestMisuse(t *testing.T) {
	t.Setenv(bootstrap.EnvFile, "")
	t.Setenv(bootstrap.EnvContent, "")
	types := xdsforge.WithTypes(cluster.Register)
	config := xdsforge.WithBootstrap(parse(t, someBootstrap))
	for name, c := range map[string]struct {
		opts []xdsforge.Option
		want string
	}{
		"no types":                   {[]xdsforge.Option{config}, "WithTypes(standard.Register)"},
		"a function without types":   {[]xdsforge.Option{config, xdsforge.WithTypes(func(xdsforge.Registrar) {})}, "WithTypes(standard.Register)"},
		"a nil function":             {[]xdsforge.Option{config, xdsforge.WithTypes(cluster.Register, nil)}, "WithTypes: function 2 is nil"},
		"types twice":                {[]xdsforge.Option{config, types, xdsforge.WithTypeSet(frozen(t))}, "WithTypeSet and WithTypes exclude each other"},
		"a profile beside a set":     {[]xdsforge.Option{config, xdsforge.WithTypeSet(frozen(t)), xdsforge.WithProfile(xdsforge.Envoy)}, "WithTypeSet and WithProfile"},
		"a nil set":                  {[]xdsforge.Option{config, xdsforge.WithTypeSet(nil)}, "WithTypeSet: the set is nil"},
		"an unknown profile":         {[]xdsforge.Option{config, types, xdsforge.WithProfile(7)}, "WithProfile = 7; must be GRPC or Envoy"},
		"no bootstrap":               {[]xdsforge.Option{types}, bootstrap.ErrNotConfigured.Error()},
		"a nil bootstrap":            {[]xdsforge.Option{types, xdsforge.WithBootstrap(nil)}, "WithBootstrap: the configuration is nil"},
		"a missing file":             {[]xdsforge.Option{types, xdsforge.WithBootstrapFile("no/such/file")}, "no/such/file"},
		"a nil transport":            {[]xdsforge.Option{config, types, xdsforge.WithTransport(nil)}, "WithTransport: the transport is nil"},
		"a negative budget":          {[]xdsforge.Option{config, types, xdsforge.WithWatcherBudget(-1)}, "WithWatcherBudget = -1ns; must not be negative"},
		"two types of the same name": {[]xdsforge.Option{config, xdsforge.WithTypes(standard.Register, impostor)}, "registered twice"},
	} {
		for door, open := range map[string]func(...xdsforge.Option) error{
			"New": func(o ...xdsforge.Option) error { _, err := xdsforge.New(o...); return err },
			"Env": func(o ...xdsforge.Option) error { _, err := xdsforge.NewEnv(o...); return err },
		} {
			if err := open(c.opts...); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "xdsforge: ") {
				t.Errorf("%s: %s: %v; want %q", name, door, err, c.want)
			}
		}
	}
	if open := xdsforge.Envs(); len(open) != 0 {
		t.Errorf("%d Envs are in use after errors", len(open))
	}
}

// impostor registers another type under the name of Cluster.
func impostor(r xdsforge.Registrar) {
	other := *resource.Describe(cluster.Type())
	r.Register(other.Handle())
}

// TestTypes expects each way to give types to work, and the same types to be given twice.
func TestTypes(t *testing.T) {
	own := &resource.LBPolicy{Config: "envoy.extensions.load_balancing_policies.round_robin.v3.RoundRobin"}
	e := newEnv(t, xdsforge.WithTypes(standard.Register, cluster.Register), xdsforge.WithTypes(func(r xdsforge.Registrar) {
		r.Extend(own)
		r.Extend(own)
	}), xdsforge.WithProfile(xdsforge.Envoy), nil)
	if got := e.Types().Len(); got != 4 {
		t.Errorf("%d types; want 4", got)
	}
	if p, _ := e.Types().LBPolicy(own.Config); p != own {
		t.Error("the built-in policy is in the place of the registered one")
	}
	if _, ok := e.Types().LBPolicy("envoy.extensions.load_balancing_policies.pick_first.v3.PickFirst"); !ok {
		t.Error("a built-in policy is missing")
	}
	if got := e.Types().Profile(); got != xdsforge.Envoy {
		t.Errorf("profile %v; want Envoy", got)
	}
	set := frozen(t)
	c, err := xdsforge.NewEnv(xdsforge.WithBootstrap(e.Bootstrap()), xdsforge.WithTypeSet(set))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Types() != set || c.Bootstrap() != e.Bootstrap() {
		t.Error("the set or the bootstrap is another one")
	}
}

// TestEnvs expects an Env to be listed from NewEnv until the last of it is closed, in any order.
func TestEnvs(t *testing.T) {
	e := newEnv(t)
	other := newEnv(t)
	if got := xdsforge.Envs(); !slices.Equal(got, []*xdsforge.Env{e, other}) {
		t.Errorf("Envs = %v; want both", got)
	}
	one, err := e.NewClient()
	if err != nil {
		t.Fatal(err)
	}
	two, err := e.NewClient()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := e.NewClient(); !errors.Is(err, xdsforge.ErrClosed) {
		t.Errorf("NewClient after Close: %v; want closed", err)
	}
	for range 2 {
		if err := one.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := two.Snapshot(t.Context()); err != nil || !slices.Contains(xdsforge.Envs(), e) {
		t.Errorf("Close of the Env or of another client closed a client: %v", err)
	}
	if _, err := one.Snapshot(t.Context()); !errors.Is(err, xdsforge.ErrClosed) {
		t.Errorf("Snapshot of a closed client: %v", err)
	}
	if got, err := e.Snapshots(t.Context()); err != nil || len(got) != 1 || got[0].NodeID != "n" {
		t.Errorf("Snapshots = %v, %v; want that of one client", got, err)
	}
	_ = two.Close()
	_ = other.Close()
	if got := xdsforge.Envs(); len(got) != 0 {
		t.Errorf("Envs = %v after the last client is closed", got)
	}
}

// TestNewOwnsItsEnv expects the Env of New to be freed with the client.
func TestNewOwnsItsEnv(t *testing.T) {
	c, err := xdsforge.New(xdsforge.WithBootstrap(parse(t, someBootstrap)), xdsforge.WithTypes(cluster.Register))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(xdsforge.Envs()); n != 1 {
		t.Errorf("%d Envs; want 1", n)
	}
	_ = c.Close()
	if n := len(xdsforge.Envs()); n != 0 {
		t.Errorf("%d Envs after Close; want 0", n)
	}
}

// TestZeroEnv expects errors of an Env and a Client that this package did not make.
func TestZeroEnv(t *testing.T) {
	var e xdsforge.Env
	if _, err := e.NewClient(); err == nil || !strings.Contains(err.Error(), "NewEnv") {
		t.Errorf("NewClient: %v", err)
	}
	if _, err := e.Snapshots(t.Context()); err == nil || e.Bootstrap() != nil || e.Types() != nil || e.Close() != nil {
		t.Errorf("Snapshots: %v", err)
	}
	if _, err := e.NewNamedClient("name"); err == nil || e.Clients() != nil {
		t.Errorf("NewNamedClient: %v", err)
	}
	var c xdsforge.Client
	for ev := range c.Status().FollowEvents(t.Context()) {
		t.Errorf("event of a zero Client: %v", ev)
	}
	if events := c.Status().Events(); events != nil {
		t.Errorf("events of a zero Client: %v", events)
	}
	if _, err := c.Status().Summary(t.Context()); !errors.Is(err, xdsforge.ErrClosed) || c.Status().Scope() != "" {
		t.Errorf("Summary of a zero Client: %v", err)
	}
	if _, err := c.Snapshot(t.Context()); !errors.Is(err, xdsforge.ErrClosed) {
		t.Errorf("Snapshot of a zero Client: %v", err)
	}
	if _, err := c.LoadStore(nil); !errors.Is(err, xdsforge.ErrClosed) || c.Close() != nil {
		t.Errorf("LoadStore of a zero Client: %v", err)
	}
}

// TestLoadStore expects a store for servers of the bootstrap, and none for others (A47).
func TestLoadStore(t *testing.T) {
	e := newEnv(t)
	c, err := e.NewClient()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s, err := c.LoadStore(e.Bootstrap().Servers()[0]); err != nil || s == nil {
		t.Errorf("LoadStore = %v, %v", s, err)
	}
	other := parse(t, strings.Replace(someBootstrap, `"memory"`, `"elsewhere"`, 1))
	if _, err := c.LoadStore(other.Servers()[0]); !errors.Is(err, load.ErrServerNotInBootstrap) {
		t.Errorf("LoadStore of another server: %v; want %v", err, load.ErrServerNotInBootstrap)
	}
}

// TestClientsOfAnEnv expects the clients of the program by their names, each with its own state.
func TestClientsOfAnEnv(t *testing.T) {
	e := newEnv(t, xdsforge.WithClientName("program"))
	scopes := func() (list []string) {
		t.Helper()
		snapshots, err := e.Snapshots(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range e.Clients() {
			s, err := c.Summary(t.Context())
			if err != nil || s.Scope != c.Scope() || snapshots[i].Scope != c.Scope() {
				t.Errorf("client %q: %v, %v; want its scope as in Snapshots, %v", c.Scope(), s, err, snapshots[i])
			}
			list = append(list, c.Scope())
		}
		return list
	}
	if got := scopes(); len(got) != 0 {
		t.Errorf("clients = %q; want none", got)
	}
	plain, err := e.NewClient()
	if err != nil {
		t.Fatal(err)
	}
	named, err := e.NewNamedClient("checkout")
	if err != nil {
		t.Fatal(err)
	}
	if got := scopes(); !slices.Equal(got, []string{"checkout", "program"}) {
		t.Errorf("clients = %q; want both", got)
	}
	list := e.Clients()
	stop, err := cluster.Subscribe(named, "a", func(cluster.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for ev := range list[0].FollowEvents(t.Context()) { // no server can be reached
		if events := list[0].Events(); ev.Kind != status.EventLost || len(events) != 1 || len(list[1].Events()) != 0 || len(named.Status().Events()) != 1 {
			t.Errorf("event = %v of %v, want a loss for this client", ev, events)
		}
		break
	}
	_ = named.Close()
	if got := scopes(); !slices.Equal(got, []string{"program"}) {
		t.Errorf("clients = %q after Close of one; want the other", got)
	}
	if _, err := list[0].Snapshot(t.Context()); !errors.Is(err, xdsforge.ErrClosed) {
		t.Errorf("Snapshot of a closed client: %v", err)
	}
	_ = plain.Close()
	for _, name := range []string{"", "#server"} {
		if _, err := e.NewNamedClient(name); err == nil || !strings.Contains(err.Error(), "name = ") {
			t.Errorf("NewNamedClient(%q): %v; want an error", name, err)
		}
		if _, err := xdsforge.NewEnv(xdsforge.WithClientName(name)); err == nil || !strings.Contains(err.Error(), "WithClientName") {
			t.Errorf("WithClientName(%q): %v; want an error", name, err)
		}
	}
}
