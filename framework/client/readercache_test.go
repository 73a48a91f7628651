package client

import (
	"testing"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// TestReaderCacheEvicts expects an update to be evicted at once if nobody uses the cache, and otherwise
// when its user is done.
func TestReaderCacheEvicts(t *testing.T) {
	typ := &resource.Descriptor{Name: "test.Thing"}
	bodies := make([][]byte, 200)
	for i := range bodies {
		bodies[i] = []byte{byte(i), 'x', 'y', 'z'}
	}
	d := newReaderCache()
	d.types[typ] = remembering(t, bodies)
	held := func() (n int) {
		for _, it := range d.types[typ].items {
			if _, gone := it.update.(*forgotten); !gone {
				n++
			}
		}
		return n
	}
	d.evict(authority.Resource{Type: typ, Name: updateOf(t, 0, nil).Name()})
	if n := held(); n != 199 {
		t.Errorf("%d updates are held, want 199", n)
	}
	err := d.use(func(typeCaches) error {
		for i := 1; i < 200; i++ {
			d.evict(authority.Resource{Type: typ, Name: updateOf(t, i, nil).Name()})
		}
		if n := held(); n != 199 {
			t.Errorf("%d updates are held while the cache is in use, want 199", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := held(); n != 0 {
		t.Errorf("%d updates are held, want none", n)
	}
	if n := len(d.types[typ].items); n > fewItems+2 {
		t.Errorf("%d items are left of updates that are gone", n)
	}
}
