package client

import (
	"testing"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// The memory forgets a drop at once if nobody uses it, and otherwise when its user is done.
func TestDeskForgets(t *testing.T) {
	typ := &resource.Descriptor{Name: "test.Thing"}
	bodies := make([][]byte, 200)
	for i := range bodies {
		bodies[i] = []byte{byte(i), 'x', 'y', 'z'}
	}
	d := newDesk()
	d.memory[typ] = remembering(t, bodies)
	held := func() (n int) {
		for _, it := range d.memory[typ].items {
			if _, gone := it.update.(*forgotten); !gone {
				n++
			}
		}
		return n
	}
	d.drop(typ, updateOf(t, 0, nil).Name())
	if n := held(); n != 199 {
		t.Errorf("%d updates are held, want 199", n)
	}
	err := d.use(func(memory) error {
		for i := 1; i < 200; i++ {
			d.drop(typ, updateOf(t, i, nil).Name())
		}
		if n := held(); n != 199 {
			t.Errorf("%d updates are held while the memory is in use, want 199", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := held(); n != 0 {
		t.Errorf("%d updates are held, want none", n)
	}
	if n := len(d.memory[typ].items); n > fewItems+2 {
		t.Errorf("%d items are left of updates that are gone", n)
	}
}
