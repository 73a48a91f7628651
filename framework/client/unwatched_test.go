package client_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// A countingType counts the resources that it decodes, and lets a test act before each.
type countingType struct {
	*resource.Descriptor

	mu      sync.Mutex
	decoded map[string]int
	before  func(name string)
}

func newCountingType() *countingType {
	c := &countingType{decoded: make(map[string]int), before: func(string) {}}
	c.Descriptor = &resource.Descriptor{
		Name: "model.Counted", NewShard: newShard, Wildcard: true, PeekName: modelPartial.PeekName,
		Decode: func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
			c.before(dc.Name.String())
			c.mu.Lock()
			c.decoded[dc.Name.String()]++
			c.mu.Unlock()
			return modelPartial.Decode(dc, body)
		},
	}
	return c
}

func (c *countingType) count(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.decoded[name]
}

// newCounted is a client of a control plane that has the counted type, in a protocol.
func newCounted(t *testing.T, typ *countingType, protocol string, opts ...option) (*client.Client, *memoryads.Server) {
	t.Helper()
	s := memoryads.NewServer(memoryads.Type{URL: typ.URL()})
	types, err := resource.NewSet(typ.Descriptor)
	if err != nil {
		t.Fatal(err)
	}
	var features []any
	if protocol != "" {
		features = append(features, protocol)
	}
	opts = append(opts, withTransport(memoryads.Network{"memory:1": s}))
	c, err := newWith(oneServer(t, "memory:1", features...), types, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c, s
}

// rejected is the number of responses that the client rejected.
func rejected(t *testing.T, c *client.Client) uint64 {
	t.Helper()
	s, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s.Servers[0].Rejected
}

// bodies is a response with resources of a type.
func bodies(t *testing.T, typ *resource.Descriptor, list ...string) []byte {
	t.Helper()
	resp := &discoveryv3.DiscoveryResponse{TypeUrl: typ.URL(), Nonce: "n", VersionInfo: "n"}
	for _, b := range list {
		resp.Resources = append(resp.Resources, &anypb.Any{TypeUrl: typ.URL(), Value: []byte(b)})
	}
	raw, err := proto.Marshal(resp)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A resource that nobody watches is neither decoded nor rejected.
func TestUnwatchedIsNotDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		typ := newCountingType()
		c, s := newCounted(t, typ, "")
		put := func(name, value string) {
			s.Set(typ.URL(), memoryads.Resource{Name: name, Body: []byte(name + "|" + value)})
		}
		put("a", "1")
		f := follow(t.Context(), t, c, typ.Descriptor, "a")
		f.value("1")
		s.Inject(bodies(t, typ.Descriptor, "a|2", "stranger|bad"))
		f.value("2")
		synctest.Wait()
		if n := typ.count("stranger"); n != 0 {
			t.Errorf("the resource that nobody watches was decoded %d times", n)
		}
		if r := rejected(t, c); r != 0 {
			t.Errorf("%d responses were rejected for a resource that nobody watches", r)
		}
	})
}

// A watch that begins while a response is decoded gets the resource of that response.
func TestWatchDuringDecoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		typ := newCountingType()
		c, s := newCounted(t, typ, "")
		s.Set(typ.URL(), memoryads.Resource{Name: "a", Body: []byte("a|1")})
		f := follow(t.Context(), t, c, typ.Descriptor, "a")
		f.value("1")
		synctest.Wait()
		var late *follower
		typ.before = func(name string) {
			if name == "a" && late == nil {
				late = follow(t.Context(), t, c, typ.Descriptor, "late")
			}
		}
		s.Inject(bodies(t, typ.Descriptor, "a|2", "late|1", "stranger|1"))
		f.value("2")
		synctest.Wait()
		if _, ok := lookup(c, typ.Descriptor, "late"); !ok {
			t.Fatal("the client skipped the resource of the response although it is watched")
		}
		late.value("1")
		if n := typ.count("stranger"); n != 0 {
			t.Errorf("the resource that nobody watches was decoded %d times", n)
		}
		if n := typ.count("a"); n != 2 {
			t.Errorf("a watched resource was decoded %d times, want once for each content", n)
		}
	})
}

// New watches of the type during each check do not prevent that a response is applied.
func TestWatchesDoNotHoldUpAResponse(t *testing.T) {
	const names = 200
	synctest.Test(t, func(t *testing.T) {
		typ := newCountingType()
		c, s := newCounted(t, typ, "")
		var list []string
		for i := range names {
			name := fmt.Sprint(i)
			list = append(list, name+"|2")
			s.Set(typ.URL(), memoryads.Resource{Name: name, Body: []byte(name + "|1")})
		}
		first := follow(t.Context(), t, c, typ.Descriptor, "0")
		first.value("1")
		synctest.Wait()
		var later []*follower
		looking := true
		typ.before = func(name string) {
			if n := len(later); looking && name == fmt.Sprint(n) && n+1 < names {
				if _, ok := lookup(c, typ.Descriptor, fmt.Sprint(n)); ok && n > 0 {
					looking = false // the response has been applied
				}
				later = append(later, follow(t.Context(), t, c, typ.Descriptor, fmt.Sprint(n+1)))
			}
		}
		s.Inject(bodies(t, typ.Descriptor, list...))
		first.value("2")
		synctest.Wait()
		if n := len(later); n < 10 || n > 32 {
			t.Errorf("the response was applied after %d looks; want 10 to 32", n)
		}
		for _, f := range later { // none is lost
			if _, err := f.until("a value", func(u *update, _ error) bool { return u != nil }); err != nil {
				t.Error(err)
			}
		}
	})
}

// A collection has no more members than its limit. The NACK names the limit.
func TestMaxMembers(t *testing.T) {
	for _, protocol := range []string{"", feature.TransportDelta} {
		t.Run(protocol, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				typ := newCountingType()
				c, s := newCounted(t, typ, protocol, withLimits(resource.Limits{CollectionMembers: 2}))
				for _, name := range []string{"a", "b", "c"} {
					s.Set(typ.URL(), memoryads.Resource{Name: name, Body: []byte(name + "|1")})
				}
				o, err := c.ObserveCollection(typ.Descriptor, "*")
				if err != nil {
					t.Fatal(err)
				}
				defer o.Stop()
				synctest.Wait()
				state, err := o.Next(t.Context())
				if err != nil || len(state.Members) != 2 {
					t.Errorf("members = %v, %v; want 2 of the 3", state.Members, err)
				}
				if rejected(t, c) == 0 {
					t.Error("the response with one member too many was accepted")
				}
			})
		})
	}
}
