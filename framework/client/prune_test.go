package client

import (
	"fmt"
	"testing"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
)

// resting returns a client that watches nothing, and its only type.
func resting(t *testing.T) (*Client, *resource.Descriptor) {
	t.Helper()
	typ := &resource.Descriptor{
		Name:     "test.Thing",
		Decode:   func(*resource.DecodeContext, []byte) (resource.Update, error) { return nil, errNoName },
		NewShard: func() resource.Shard { return runtime.NewShard[*plainUpdate]() },
	}
	types, err := resource.NewSet(typ)
	if err != nil {
		t.Fatal(err)
	}
	config, err := bootstrap.Parse([]byte(`{"xds_servers": [{"server_uri": "s", "channel_creds": [{"type": "insecure"}]}], "authorities": {"a": {}}, "node": {"id": "n"}}`))
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(config, types, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, typ
}

// TestMemoryIsPruned follows the items of a memory over responses with resources that are
// cached, and others that are not.
func TestMemoryIsPruned(t *testing.T) {
	c, typ := resting(t)
	m := make(typeCaches)
	s, shard := m.of(typ), c.Shard(typ, old(t, "thing 0"))
	next := 0
	remember := func(n int, cached bool) {
		d := decoded{typ: typ}
		for range n {
			u := updateOf(t, next, fmt.Appendf(nil, "body %d", next))
			next++
			if cached {
				shard.Store(u)
			}
			d.fresh = append(d.fresh, fresh{result: len(d.results), plain: true})
			d.results = append(d.results, authority.Result{Name: u.Name(), Update: u})
		}
		m.remember(c, &d)
	}
	for step, tt := range []struct {
		items  int
		cached bool
		want   int // items in the end
	}{
		{1, false, 0},         // the first response prunes
		{fewItems, false, 64}, // that many may be out of date
		{1, false, 0},
		{100, true, 100},
		{89, false, 189}, // a quarter more, and 64
		{1, false, 100},
	} {
		remember(tt.items, tt.cached)
		if len(s.items) != tt.want {
			t.Fatalf("step %d: the memory has %d items, want %d", step, len(s.items), tt.want)
		}
	}

	cached := 0
	for u := range shard.All() { // 70 of the 100 go
		cached++
		if cached > 30 {
			shard.Delete(u.Name())
			m.evict(typ, u.Name())
		}
	}
	if len(s.items) != 35 || s.gone != 5 {
		t.Fatalf("the memory has %d items, %d of which are forgotten; want 35 and 5", len(s.items), s.gone)
	}
	remember(89, false)
	if len(s.items) != 124 {
		t.Errorf("the memory has %d items, want twice the 30 that are cached, and 64", len(s.items))
	}
	remember(1, false)
	if len(s.items) != 30 {
		t.Errorf("the memory has %d items, want the 30 that are cached", len(s.items))
	}
	for _, it := range s.items {
		if u, ok := shard.Load(it.update.Name()); !ok || u != it.update {
			t.Errorf("the memory has %s, which is not cached", it.update.Name())
		}
	}
}

// TestShards expects a shard for each authority, and none of an unknown type.
func TestShards(t *testing.T) {
	c, typ := resting(t)
	count := func(t *resource.Descriptor, limit int) (n int) {
		for range c.Shards(t) {
			n++
			if n == limit {
				break
			}
		}
		return n
	}
	if n := count(typ, 9); n != 2 {
		t.Errorf("the type has %d shards, want those of old-style names and of one authority", n)
	}
	if n := count(typ, 1); n != 1 {
		t.Errorf("the loop that ends at once got %d shards", n)
	}
	if n := count(new(resource.Descriptor), 9); n != 0 {
		t.Errorf("an unknown type has %d shards", n)
	}
	if s := c.Shard(new(resource.Descriptor), old(t, "n")); s != nil {
		t.Error("an unknown type has a shard for a name")
	}
	if s := c.Shard(typ, old(t, "xdstp://other/test.Thing/n")); s != nil {
		t.Error("a name of an unknown authority has a shard")
	}
}

// TestSizesOfCaches expects slots for half as many items again.
func TestSizesOfCaches(t *testing.T) {
	for _, tt := range []struct{ items, slots int }{{1, 64}, {42, 64}, {43, 128}, {85, 128}, {86, 256}} {
		s := remembering(t, nil)
		s.build(tt.items)
		if len(s.slots) != tt.slots {
			t.Errorf("%d items have %d slots, want %d", tt.items, len(s.slots), tt.slots)
		}
	}
}

// TestUsedSlots expects a resource with another name to use a slot more, and one that is as it was
// to use none.
func TestUsedSlots(t *testing.T) {
	s := remembering(t, [][]byte{[]byte("body")})
	again := item{raw: s.items[0].raw, update: s.items[0].update}
	for range 3 {
		s.add(again)
		if s.used != 1 || len(s.items) != 1 {
			t.Errorf("%d slots and %d items after the same resource again, want 1 of each", s.used, len(s.items))
		}
	}
	s.add(item{raw: "other", update: updateOf(t, 1, []byte("other"))})
	if s.used != 2 || len(s.items) != 2 {
		t.Errorf("%d slots and %d items after another resource, want 2 of each", s.used, len(s.items))
	}
	for i := 2; i <= 48; i++ {
		want := 64
		if i == 48 { // more than three quarters
			want = 128
		}
		s.reserve(1)
		body := fmt.Appendf(nil, "%d", i)
		s.add(item{raw: text(body), update: updateOf(t, i, body)})
		if len(s.slots) != want {
			t.Errorf("%d items have %d slots, want %d", i+1, len(s.slots), want)
		}
	}
}

// TestForgottenItems expects the items to be made anew when more than half of them are forgotten.
func TestForgottenItems(t *testing.T) {
	typ := &resource.Descriptor{Name: "test.Thing"}
	bodies := make([][]byte, 2*fewItems+2)
	for i := range bodies {
		bodies[i] = fmt.Appendf(nil, "body %d", i)
	}
	m := typeCaches{typ: remembering(t, bodies)}
	for i := range fewItems + 2 {
		want := len(bodies)
		if i == fewItems+1 {
			want = fewItems
		}
		m.evict(typ, updateOf(t, i, nil).Name())
		if len(m[typ].items) != want {
			t.Errorf("after %d are forgotten there are %d items, want %d", i+1, len(m[typ].items), want)
		}
	}
	m.evict(typ, old(t, "unknown"))
	m.evict(new(resource.Descriptor), old(t, "unknown"))
}
