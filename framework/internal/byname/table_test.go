package byname_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/xdsforge/xdsforge/framework/internal/byname"
)

type value struct{ name string }

func nameOf(v *value) string { return v.name }

// A table agrees with a map, for random names that come and go.
func TestTable(t *testing.T) {
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var table byname.Table[*value]
		want := make(map[string]*value)
		for range 400 {
			name := fmt.Sprint("name ", rng.IntN(60))
			if _, known := want[name]; known && rng.IntN(4) > 0 {
				table.Delete(name, nameOf)
				delete(want, name)
			} else {
				want[name] = &value{name}
				table.Set(name, want[name], nameOf)
			}
			check(t, &table, want)
		}
		table.Reset(100)
		clear(want)
		check(t, &table, want)
	}
}

func check(t *testing.T, table *byname.Table[*value], want map[string]*value) {
	t.Helper()
	for n := range 60 {
		name := fmt.Sprint("name ", n)
		if got, ok := table.Find(name, nameOf); got != want[name] || ok != (got != nil) {
			t.Fatalf("%q has the value %v, %t; want %v", name, got, ok, want[name])
		}
	}
	all := make(map[*value]bool)
	for v := range table.All() {
		if all[v] || want[v.name] != v {
			t.Fatalf("All yields %v, which is there twice or not at all", v)
		}
		all[v] = true
	}
	if len(all) != len(want) || table.Len() != len(want) {
		t.Fatalf("there are %d values, and Len is %d; want %d", len(all), table.Len(), len(want))
	}
	table.Delete("unknown", nameOf)
}

// A value takes at most 3 slots, while the table grows and while it shrinks.
func TestSize(t *testing.T) {
	var table byname.Table[*value]
	var all []*value
	for i := range 10_000 {
		all = append(all, &value{fmt.Sprint(i)})
		table.Set(all[i].name, all[i], nameOf)
		if got := byname.Slots(&table); i > 100 && got > 3*len(all) {
			t.Fatalf("%d values have %d slots; want at most 3 each", len(all), got)
		}
	}
	for i, v := range all {
		table.Delete(v.name, nameOf)
		if left, got := len(all)-i-1, byname.Slots(&table); left > 100 && got > 8*left {
			t.Fatalf("%d remaining values have %d slots; want at most 8 each", left, got)
		}
	}
	if got := byname.Slots(&table); got > 64 {
		t.Errorf("an empty table has %d slots; want few", got)
	}
}

// A table gets smaller when it has more than 8 slots for each value, and not before.
func TestSmallerTable(t *testing.T) {
	var table byname.Table[*value]
	var all []*value
	for i := range 600 {
		all = append(all, &value{fmt.Sprint(i)})
		table.Set(all[i].name, all[i], nameOf)
	}
	slots := byname.Slots(&table)
	for 8*table.Len() > slots {
		table.Delete(all[table.Len()-1].name, nameOf)
		if got := byname.Slots(&table); got != slots {
			t.Fatalf("%d values have %d slots; want still %d", table.Len(), got, slots)
		}
	}
	table.Delete(all[0].name, nameOf)
	if got := byname.Slots(&table); got != slots/4 {
		t.Errorf("%d values have %d slots; want a quarter of %d", table.Len(), got, slots)
	}
}

// A table with the fewest slots keeps them when it becomes empty.
func TestEmptyTableKeepsItsSlots(t *testing.T) {
	var table byname.Table[*value]
	v := &value{"a"}
	table.Set(v.name, v, nameOf)
	before := byname.Slots(&table)
	table.Delete(v.name, nameOf)
	if got := byname.Slots(&table); got != before {
		t.Errorf("an empty table has %d slots; want the %d that it had with a value", got, before)
	}
}

// Add keeps the value that a name has. A table that has grown does not grow again.
func TestAdd(t *testing.T) {
	var table byname.Table[*value]
	table.Grow(1000)
	slots := byname.Slots(&table)
	for i := range 1000 {
		v := &value{fmt.Sprint(i)}
		if got := table.Add(v.name, v, nameOf); got != v {
			t.Fatalf("Add(%q) = %v for a new name, want the value itself", v.name, got)
		}
		if got := table.Add(v.name, &value{v.name}, nameOf); got != v {
			t.Fatalf("Add(%q) = %p for a known name, want its value %p", v.name, got, v)
		}
	}
	if got := byname.Slots(&table); table.Len() != 1000 || got != slots || 3*got < 4*1000 {
		t.Errorf("there are %d values in %d slots, want 1000 in the %d that Grow made", table.Len(), got, slots)
	}
}

// A table that is emptied keeps its memory.
func TestReset(t *testing.T) {
	var table byname.Table[*value]
	table.Reset(100)
	before := byname.Slots(&table)
	allocs := testing.AllocsPerRun(10, func() {
		table.Reset(100)
		table.Set("a", &value{"a"}, nameOf)
	})
	if got := byname.Slots(&table); got != before || allocs > 1 {
		t.Errorf("after Reset, there are %d slots and %v allocations; want %d slots and that of the value", got, allocs, before)
	}
}

// Reset keeps some memory, but no value, also none beyond the new size.
func TestResetKeepsNoValue(t *testing.T) {
	for _, n := range []int{500, 100_000} {
		var table byname.Table[*value]
		for i := range n {
			v := &value{fmt.Sprint(i)}
			table.Set(v.name, v, nameOf)
		}
		for _, room := range []int{n / 4, 5} {
			table.Reset(room)
			kept := byname.Kept(&table)
			if len(kept) > max(8*room, 8<<10)*3 {
				t.Errorf("a table of %d values keeps %d slots for %d", n, len(kept), room)
			}
			for _, v := range kept {
				if v != nil {
					t.Fatalf("a table of %d values keeps %v after a reset for %d", n, v, room)
				}
			}
		}
	}
}

// Reset keeps the memory of eight times as many slots as a table of a thousand has, but no more.
func TestKeptMemory(t *testing.T) {
	for slots, want := range map[int]int{8192: 8192, 16384: 1024} {
		var table byname.Table[*value]
		table.Grow(slots * 3 / 4)
		if got := byname.Slots(&table); got != slots {
			t.Fatalf("the table has %d slots, want %d", got, slots)
		}
		table.Reset(700)
		if got := len(byname.Kept(&table)); got != want || byname.Slots(&table) != 1024 {
			t.Errorf("a table of %d slots keeps %d, and uses %d; want %d and 1024", slots, got, byname.Slots(&table), want)
		}
	}
}
