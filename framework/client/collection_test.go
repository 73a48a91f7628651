package client_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	xdscorev3 "github.com/cncf/xds/go/xds/core/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
	"github.com/xdsforge/xdsforge/internal/memoryads"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// things are a type with every kind of collection. The body of one is its name and
// its tag.
var things = &resource.Descriptor{
	Name: "test.Thing", Complete: true, Wildcard: true, Globs: true, Collection: "test.ThingCollection", NewShard: newShard,
	PeekName: func(b []byte) (string, error) {
		name, _, _ := strings.Cut(string(b), "|")
		return name, nil
	},
	Decode: func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
		_, tag, _ := strings.Cut(string(body), "|")
		if tag == "bad" {
			return nil, errors.New("a bad thing")
		}
		return &update{dc.Meta(slices.Clone(body)), tag}, nil
	},
}

const listURL = "type.googleapis.com/test.ThingCollection"

func thing(name, tag string) memoryads.Resource {
	return memoryads.Resource{Name: name, Body: []byte(name + "|" + tag)}
}

// newThings is a client of one control plane in memory, and that.
func newThings(t *testing.T, features ...any) (*client.Client, *memoryads.Server) {
	t.Helper()
	return newThingsWith(t, features)
}

func newThingsWith(t *testing.T, features []any, opts ...option) (*client.Client, *memoryads.Server) {
	t.Helper()
	s := memoryads.NewServer(
		memoryads.Type{URL: things.URL(), Complete: true, Wildcard: true}, memoryads.Type{URL: listURL},
	)
	t.Cleanup(func() {
		if v := s.Violations(); len(v) > 0 {
			t.Errorf("the client broke the protocol: %q", v)
		}
	})
	return thingsOf(t, s, features, opts...), s
}

// thingsOf returns a client of things of one control plane.
func thingsOf(t *testing.T, s *memoryads.Server, features []any, opts ...option) *client.Client {
	t.Helper()
	types, err := resource.NewSet(things)
	if err != nil {
		t.Fatal(err)
	}
	e := server("memory:1", features...)
	spec := bootstrap.Spec{Servers: []bootstrap.ServerSpec{e}, Authorities: map[string]bootstrap.AuthoritySpec{"e": {Servers: []bootstrap.ServerSpec{e}}}}
	c, err := newWith(config(t, spec), types, append(opts, withTransport(memoryads.Network{"memory:1": s}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// A collector records the events of a collection as text.
type collector struct {
	t *testing.T
	o resource.CollectionObservation
}

func collect(t *testing.T, c resource.Source, name string) *collector {
	t.Helper()
	o, err := c.ObserveCollection(things, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(o.Stop)
	return &collector{t: t, o: o}
}

// wants waits until all goroutines are idle, and checks the events since the last check.
func (c *collector) wants(want ...string) {
	c.t.Helper()
	pass(client.DefaultWatcherBudget) // there may be others that nobody asks
	var got []string
	for {
		ctx, cancel := context.WithTimeout(c.t.Context(), time.Nanosecond)
		s, err := c.o.Next(ctx)
		cancel()
		if err != nil {
			break
		}
		if s.Err != nil {
			got = append(got, "! "+kind(s.Err))
		}
		if s.Ambient != nil {
			got = append(got, "~ "+kind(s.Ambient))
		}
		for _, m := range s.Members {
			name := m.Name.String()
			name = name[strings.LastIndexByte(name, '/')+1:]
			switch {
			case m.Update == nil:
				got = append(got, name+" "+kind(m.Err))
			case m.Err != nil:
				got = append(got, name+"="+tag(m.Update)+" "+kind(m.Err))
			default:
				got = append(got, name+"="+tag(m.Update))
			}
		}
		synctest.Wait()
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.t.Errorf("events %q, want %q", got, want)
	}
}

func kind(err error) string {
	for _, k := range []error{
		resource.ErrRemoved, resource.ErrNotFound, resource.ErrInvalid, resource.ErrTransport, resource.ErrDenied, resource.ErrUnavailable,
	} {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	return fmt.Sprint(err)
}

var protocols = []string{"", feature.TransportDelta}

func TestWildcard(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newThings(t, protocol)
				s.Set(things.URL(), thing("a", "1"), thing("b", "1"))
				all := collect(t, c, "*")
				all.wants("a=1", "b=1")
				s.Set(things.URL(), thing("b", "2"), thing("c", "bad"))
				all.wants("b=2", "c invalid")
				s.Delete(things.URL(), "a", "c")
				all.wants("a removed by the control plane", "c removed by the control plane")
				if _, ok := lookup(c, things, "b"); !ok {
					t.Error("a member is not cached")
				}
				s.Disconnect(nil)
				pass(2 * time.Second)
				s.Set(things.URL(), thing("d", "1"))
				all.wants("d=1")
				all.o.Stop()
				synctest.Wait()
				if n := c.Shard(things, mustParse(t, c, "b")).Len(); n != 0 {
					t.Errorf("%d cached that nobody watches", n)
				}
			})
		})
	}
}

func mustParse(t *testing.T, c resource.Source, s string) xdstp.Name {
	t.Helper()
	n, err := c.ParseName(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestGlobCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newThings(t, feature.TransportDelta)
		const dir = "xdstp://e/test.Thing/g/"
		s.Set(things.URL(), thing(dir+"a", "1"), thing(dir+"b", "1"), thing("xdstp://e/test.Thing/h/a", "1"))
		g := collect(t, c, dir+"*")
		g.wants("a=1", "b=1")
		f := follow(t.Context(), t, c, things, dir+"a")
		f.value("1")
		s.Delete(things.URL(), dir+"a", dir+"b")
		g.wants("a removed by the control plane", "b removed by the control plane")
		f.ambient(resource.ErrRemoved)
		s.Set(things.URL(), thing(dir+"c", "1"), memoryads.Resource{Name: dir + "d", Error: &rpcstatus.Status{Code: 7}})
		g.wants("c=1")
		collect(t, c, "xdstp://e/test.Thing/nothing/*").wants("! does not exist")
	})
}

func locatorOf(id string) *xdscorev3.CollectionEntry {
	return &xdscorev3.CollectionEntry{ResourceSpecifier: &xdscorev3.CollectionEntry_Locator{Locator: &xdscorev3.ResourceLocator{
		Authority: "e", ResourceType: things.Name, Id: id,
		ContextParamSpecifier: &xdscorev3.ResourceLocator_ExactContext{ExactContext: &xdscorev3.ContextParams{Params: map[string]string{"k": "v w"}}},
	}}}
}

func inlineOf(entry, name, tag string) *xdscorev3.CollectionEntry {
	return &xdscorev3.CollectionEntry{ResourceSpecifier: &xdscorev3.CollectionEntry_InlineEntry_{InlineEntry: &xdscorev3.CollectionEntry_InlineEntry{
		Name: entry, Resource: &anypb.Any{TypeUrl: things.URL(), Value: []byte(name + "|" + tag)},
	}}}
}

func listOf(t *testing.T, name string, entries ...*xdscorev3.CollectionEntry) memoryads.Resource {
	t.Helper()
	var b []byte
	for _, e := range entries {
		raw, err := proto.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendBytes(b, raw)
	}
	return memoryads.Resource{Name: name, Body: b, Wrapped: true}
}

func TestListCollection(t *testing.T) {
	const name = "xdstp://e/test.ThingCollection/all?p=q"
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newThings(t, protocol)
				set := func(entries ...*xdscorev3.CollectionEntry) { s.Set(listURL, listOf(t, name, entries...)) }
				s.Set(things.URL(), thing("xdstp://e/test.Thing/far?k=v%20w", "1"))
				set(locatorOf("far"), inlineOf("x", "xdstp://e/test.Thing/near", "1"), inlineOf("y", "", "1"))
				l := collect(t, c, name)
				l.wants("far?k=v%20w=1", "near=1", "y?p=q=1")
				s.Set(things.URL(), thing("xdstp://e/test.Thing/far?k=v%20w", "2"))
				l.wants("far?k=v%20w=2")
				set(inlineOf("x", "xdstp://e/test.Thing/near", "2"), locatorOf("missing"))
				l.wants("far?k=v%20w removed by the control plane", "near=2", "y?p=q removed by the control plane")
				set(inlineOf("x", "xdstp://e/test.Thing/near", "bad"), &xdscorev3.CollectionEntry{})
				l.wants("~ invalid")
				set()
				l.wants("near removed by the control plane")
				if n := s.Open(); n != 1 {
					t.Errorf("%d streams, want one", n)
				}
			})
		})
	}
}

// A list is a resource, too: its update has the members in their order. Entries without names have names of their positions.
func TestListAsAResource(t *testing.T) {
	const name = "xdstp://e/test.ThingCollection/all"
	synctest.Test(t, func(t *testing.T) {
		c, s := newThings(t)
		var want []string
		var entries []*xdscorev3.CollectionEntry
		for i := range 20 {
			want = append(want, fmt.Sprintf("xdstp://e/test.Thing/all/%%23%d=%d", 2*i, i), fmt.Sprintf("xdstp://e/test.Thing/far%d?k=v%%20w", 20-i))
			entries = append(entries, inlineOf("", "", fmt.Sprint(i)), locatorOf(fmt.Sprint("far", 20-i)))
		}
		s.Set(listURL, listOf(t, name, append(entries, locatorOf("far1"))...))
		lists, err := resource.Find(c, "test.ThingCollection")
		if err != nil {
			t.Fatal(err)
		}
		u, err := lists.Get(t.Context(), c, name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for n, member := range u.(interface {
			Entries() iter.Seq2[xdstp.Name, resource.Update]
		}).Entries() {
			if member != nil {
				got = append(got, n.String()+"="+tag(member))
			} else {
				got = append(got, n.String())
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("the entries are\n%q\nwant\n%q", got, want)
		}
		if _, err := resource.Find(c, "test.OtherCollection"); !errors.Is(err, resource.ErrUnknownType) {
			t.Errorf("Find of an unknown collection: %v", err)
		}
	})
}

func TestWatchCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newThings(t)
		s.Set(things.URL(), thing("a", "1"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var got []string
		for m := range things.Handle().WatchCollection(ctx, c, "*") {
			if !m.Synced {
				t.Errorf("%+v is not synced; there was one member", m)
			}
			switch {
			case m.Name.IsZero():
				got = append(got, kind(m.Ambient))
			case m.Err != nil:
				got = append(got, m.Name.String()+" "+kind(m.Err))
				s.Refuse(errors.New("refused"))
				s.Disconnect(errors.New("cut"))
			default:
				got = append(got, m.Name.String()+"="+tag(m.Update))
				if tag(m.Update) == "2" {
					cancel()
					continue
				}
				s.Delete(things.URL(), "a")
			}
			if len(got) == 3 {
				s.Refuse(nil)
				s.Set(things.URL(), thing("a", "2"))
			}
		}
		if want := []string{"a=1", "a removed by the control plane", "control plane unreachable", "a=2"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestMisuseOfCollections(t *testing.T) {
	c := newClient(t, oneServer(t, "127.0.0.1:1"))
	for _, m := range []struct{ name, want string }{
		{"*", "has no wildcard"},
		{xdstpName("", clusterName, "*"), "has no glob collections"},
		{"xdstp:///envoy.config.cluster.v3.ClusterCollection/x", "has no list collections"},
		{"x", "is no collection"},
		{"", "empty"},
	} {
		if _, err := c.ObserveCollection(clusters, m.name); err == nil || !strings.Contains(err.Error(), m.want) {
			t.Errorf("%q: error = %v, want %q in it", m.name, err, m.want)
		}
	}
	if _, err := c.Observe(clusters, "*"); err == nil || !strings.Contains(err.Error(), "WatchCollection") {
		t.Errorf("error = %v, want that it is a collection", err)
	}
	if _, err := c.ObserveCollection(things, "*"); !errors.Is(err, resource.ErrUnknownType) {
		t.Errorf("error = %v, want ErrUnknownType", err)
	}
}
