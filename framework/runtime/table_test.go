package runtime

import (
	"fmt"
	"testing"

	"github.com/xdsforge/xdsforge/framework/xdstp"
)

type value struct{ name xdstp.Name }

func (v *value) Name() xdstp.Name { return v.name }

// A table shrinks when fewer than an eighth of its slots have entries.
func TestTableShrinks(t *testing.T) {
	var x table[*value]
	x.init()
	const many = 512
	for i := range many {
		name, err := xdstp.Parse(fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		x.store(&value{name})
	}
	for i := range many {
		before := len(*x.slots.Load())
		x.delete(fmt.Sprint(i))
		left := many - 1 - i
		if shrinks, want := len(*x.slots.Load()) < before, before > minSlots && left < before/8; shrinks != want {
			t.Fatalf("with %d entries left in %d slots, the table shrinks: %t; want %t", left, before, shrinks, want)
		}
	}
}
