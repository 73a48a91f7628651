package client_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// The authorities of the trust tests. Old-style names and "e" belong to memory:1, "evil" to
// memory:2. "f" belongs to memory:3 and falls back to memory:2.
const (
	victim    = "xdstp://e/test.Thing/victim"
	oldVictim = "old-style"
	member    = "xdstp://e/test.Thing/dir/member"
	backed    = "xdstp://f/test.Thing/backed"
	evil      = "xdstp://evil/test.Thing/x"
	evilList  = "xdstp://evil/test.ThingCollection/all"
)

// A trustWorld has watches of resources of four authorities, all of which are content.
type trustWorld struct {
	t       *testing.T
	client  *client.Client
	evil    *memoryads.Server
	watches map[string]*follower
	all     map[string]*collector
}

func inTrustWorld(t *testing.T, protocol string, test func(*trustWorld)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		network := make(memoryads.Network)
		for _, uri := range []string{"memory:1", "memory:2", "memory:3"} {
			network[uri] = memoryads.NewServer(memoryads.Type{URL: things.URL(), Complete: true, Wildcard: true}, memoryads.Type{URL: listURL})
		}
		types, err := resource.NewSet(things)
		if err != nil {
			t.Fatal(err)
		}
		one, two, three := server("memory:1", protocol), server("memory:2", protocol), server("memory:3", protocol)
		c, err := newWith(config(t, bootstrap.Spec{
			Servers: []bootstrap.ServerSpec{one},
			Authorities: map[string]bootstrap.AuthoritySpec{
				"e": {Servers: []bootstrap.ServerSpec{one}}, "evil": {Servers: []bootstrap.ServerSpec{two}},
				"f": {Servers: []bootstrap.ServerSpec{three, two}},
			},
		}), types, withTransport(network))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		network["memory:1"].Set(things.URL(), thing(victim, "1"), thing(oldVictim, "1"), thing(member, "1"))
		network["memory:2"].Set(things.URL(), thing(evil, "1"))
		network["memory:2"].Set(listURL, listOf(t, evilList, inlineOf("y", "", "1")))
		network["memory:3"].Set(things.URL(), thing(backed, "1"))
		w := &trustWorld{t: t, client: c, evil: network["memory:2"], watches: make(map[string]*follower), all: make(map[string]*collector)}
		for _, name := range []string{victim, oldVictim, backed, evil} {
			w.watches[name] = follow(t.Context(), t, c, things, name)
			w.watches[name].value("1")
		}
		for name, members := range map[string]string{"*": oldVictim + "=1", "xdstp://e/test.Thing/dir/*": "member=1", evilList: "y=1"} {
			w.all[name] = collect(t, c, name)
			w.all[name].wants(members)
		}
		test(w)
	})
}

// inject sends a response on the stream of the evil server, in its protocol.
func (w *trustWorld) inject(url string, delta bool, a attack) {
	w.t.Helper()
	var m proto.Message = &discoveryv3.DeltaDiscoveryResponse{
		TypeUrl: url, Nonce: "evil", Resources: a.resources, RemovedResources: a.removed, ResourceErrors: a.errors,
	}
	if !delta {
		sotw := &discoveryv3.DiscoveryResponse{TypeUrl: url, Nonce: "evil", VersionInfo: "evil", ResourceErrors: a.errors}
		for _, r := range a.resources {
			sotw.Resources = append(sotw.Resources, anyOf(w.t, r))
		}
		for _, p := range a.plain {
			sotw.Resources = append(sotw.Resources, &anypb.Any{TypeUrl: things.URL(), Value: []byte(p)})
		}
		m = sotw
	}
	raw, err := proto.Marshal(m)
	if err != nil {
		w.t.Fatal(err)
	}
	w.evil.Inject(raw)
	pass(time.Second)
}

// told returns the next event of a watch, or "" if there is none.
func (w *trustWorld) told(name string) string {
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Nanosecond)
	defer cancel()
	s, err := w.watches[name].o.Next(ctx)
	switch {
	case err != nil:
		return ""
	case s.Update == nil:
		return kind(s.Err)
	case s.Err != nil:
		return tag(s.Update) + " " + kind(s.Err)
	}
	return tag(s.Update)
}

// An attack is a response of the evil server.
type attack struct {
	resources []*discoveryv3.Resource
	plain     []string // resources without a wrapper, in state of the world
	removed   []string
	errors    []*discoveryv3.ResourceError
	evil      string // the event of the evil server's own resource
}

func wrap(name, inner, tag string, aliases ...string) *discoveryv3.Resource {
	return &discoveryv3.Resource{
		Name: name, Version: "evil", Aliases: aliases, Resource: &anypb.Any{TypeUrl: things.URL(), Value: []byte(inner + "|" + tag)},
	}
}

func refusal(name string) *discoveryv3.ResourceError {
	return &discoveryv3.ResourceError{ResourceName: &discoveryv3.ResourceName{Name: name}, ErrorDetail: &rpcstatus.Status{Code: 5, Message: "evil"}}
}

func beat(name string) *discoveryv3.Resource {
	return &discoveryv3.Resource{Name: name, Version: "1", Ttl: durationpb.New(time.Millisecond)}
}

var victims = []string{victim, oldVictim, member, backed}

// A server cannot change resources of authorities that the bootstrap does not assign to it. Nor can
// it change resources while their authority uses another server (gRFC A47, gRFC A71).
func TestServersSpeakForTheirAuthorities(t *testing.T) {
	each := func(f func(name string) *discoveryv3.Resource) (list []*discoveryv3.Resource) {
		for _, name := range victims {
			list = append(list, f(name))
		}
		return list
	}
	attacks := map[string]attack{
		"resources by their own names": {plain: []string{victim + "|2", oldVictim + "|2", member + "|2", backed + "|2", evil + "|1"}},
		"resources in wrappers":        {resources: append(each(func(n string) *discoveryv3.Resource { return wrap(n, n, "2") }), wrap(evil, evil, "1"))},
		"its own resource, which calls itself another": {
			resources: []*discoveryv3.Resource{wrap(evil, victim, "3")}, evil: "3",
		},
		"its own resource with aliases":  {resources: []*discoveryv3.Resource{wrap(evil, evil, "3", victims...)}, evil: "3"},
		"their names with its own alias": {resources: append(each(func(n string) *discoveryv3.Resource { return wrap(n, n, "2", evil) }), wrap(evil, evil, "1"))},
		"invalid resources":              {resources: append(each(func(n string) *discoveryv3.Resource { return wrap(n, n, "bad") }), wrap(evil, evil, "1"))},
		"new members of collections": {resources: []*discoveryv3.Resource{
			wrap("xdstp://e/test.Thing/dir/new", "", "2"), wrap("new", "new", "2"), wrap(evil, evil, "1"),
		}},
		"removals": {
			removed:   append([]string{"xdstp://e/test.Thing/dir/*", "*"}, victims...),
			resources: []*discoveryv3.Resource{wrap(evil, evil, "1")},
		},
		"errors": {
			errors:    []*discoveryv3.ResourceError{refusal(victim), refusal(oldVictim), refusal(member), refusal(backed), refusal("*"), refusal("xdstp://e/test.Thing/dir/*")},
			resources: []*discoveryv3.Resource{wrap(evil, evil, "1")},
		},
		"heartbeats that expire": {resources: append(each(beat), wrap(evil, evil, "1"))},
	}
	for _, protocol := range protocols {
		for what, a := range attacks {
			t.Run(protocol+" "+what, func(t *testing.T) {
				inTrustWorld(t, protocol, func(w *trustWorld) {
					w.inject(things.URL(), protocol != "", a)
					if got := w.told(evil); got != a.evil {
						w.t.Errorf("its own resource: got %q; want %q", got, a.evil)
					}
					w.unharmed()
				})
			})
		}
	}
}

// unharmed checks that no other watcher got an event, and that the cache is unchanged.
func (w *trustWorld) unharmed() {
	w.t.Helper()
	for _, name := range []string{victim, oldVictim, backed} {
		if got := w.told(name); got != "" {
			w.t.Errorf("the watcher of %s got %q", name, got)
		}
	}
	for _, name := range []string{"*", "xdstp://e/test.Thing/dir/*"} {
		w.all[name].wants()
	}
	for _, s := range victims {
		name, err := xdstp.Parse(s)
		if err != nil {
			w.t.Fatal(err)
		}
		if u, ok := lookup(w.client, things, name.String()); !ok || u.tag != "1" {
			w.t.Errorf("%s is cached as %v; want its value 1", s, u)
		}
	}
}

// An inline entry of a list collection must have the authority of the collection. Any other
// authority is a violation.
func TestInlineEntriesHaveTheAuthorityOfTheirCollection(t *testing.T) {
	for _, protocol := range protocols {
		for _, name := range []string{victim, oldVictim, backed, "xdstp:///test.Thing/x", "xdstp://unknown/test.Thing/x"} {
			t.Run(protocol+" "+name, func(t *testing.T) {
				inTrustWorld(t, protocol, func(w *trustWorld) {
					w.evil.Set(listURL, listOf(t, evilList, inlineOf("y", "", "2"), inlineOf("x", name, "2")))
					pass(time.Second)
					ctx, cancel := context.WithTimeout(w.t.Context(), time.Nanosecond)
					defer cancel()
					s, err := w.all[evilList].o.Next(ctx)
					want := `entries[1]; name = "` + name + `"; must have the authority "evil" of the collection`
					if err != nil || s.Ambient == nil || !strings.Contains(s.Ambient.Error(), want) || len(s.Members) > 0 {
						w.t.Errorf("the collection has %v, %v, %v; want an error with %q", s.Members, s.Ambient, err, want)
					}
					w.unharmed()
				})
			})
		}
	}
	t.Run("names of entries stay below the collection", func(t *testing.T) {
		inTrustWorld(t, "", func(w *trustWorld) {
			var entries []*xdscorev3.CollectionEntry
			for _, name := range []string{"//e/test.Thing/victim", "../../x", "?k=v", "#entry", "%2e%2e"} {
				entries = append(entries, inlineOf(name, "", "2"))
			}
			w.evil.Set(listURL, listOf(t, evilList, entries...))
			pass(time.Second)
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Nanosecond)
			defer cancel()
			s, err := w.all[evilList].o.Next(ctx)
			if err != nil {
				w.t.Fatal(err)
			}
			for _, m := range s.Members {
				if !strings.HasPrefix(m.Name.String(), "xdstp://evil/test.Thing/all/") {
					w.t.Errorf("the member %q is not below its collection", m.Name)
				}
			}
			if s.Err == nil && s.Ambient == nil && len(s.Members) < len(entries) {
				w.t.Errorf("%d members, and no error; want %d", len(s.Members), len(entries))
			}
			w.unharmed()
		})
	})
}

// A locator may name a resource of another authority: the client subscribes to it at that
// authority's server only.
func TestLocatorsAreFollowedToTheirOwnAuthority(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			inTrustWorld(t, protocol, func(w *trustWorld) {
				w.evil.Set(things.URL(), thing(victim, "2"))
				at := func(authority, id string) *xdscorev3.CollectionEntry {
					return &xdscorev3.CollectionEntry{ResourceSpecifier: &xdscorev3.CollectionEntry_Locator{Locator: &xdscorev3.ResourceLocator{
						Authority: authority, ResourceType: things.Name, Id: id,
					}}}
				}
				w.evil.Set(listURL, listOf(t, evilList, at("e", "victim"), at("unknown", "z")))
				w.all[evilList].wants("victim=1", "y removed by the control plane", "z "+unknownAuthority(w))
				w.unharmed()
			})
		})
	}
}

func unknownAuthority(w *trustWorld) string {
	_, err := w.client.Observe(things, "xdstp://unknown/test.Thing/z")
	return err.Error()
}
