package wire_test

import (
	"fmt"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/framework/runtime/wire"
)

type (
	outer struct{ Inner []inner }
	inner struct{ Number uint64 }
	made  struct{ Number uint64 }
)

// outers encodes lists of numbers, in nested messages.
func outers(sizes ...int) []byte {
	var out []byte
	for i, n := range sizes {
		var o []byte
		for j := range n {
			in := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(100*i+j))
			o = protowire.AppendBytes(protowire.AppendTag(o, 1, protowire.BytesType), in)
		}
		out = protowire.AppendBytes(protowire.AppendTag(out, 1, protowire.BytesType), o)
	}
	return out
}

func parse(t testing.TB, r wire.Reader) []outer {
	t.Helper()
	var list []outer
	for r.Next() {
		o := wire.Element[outer](&list, &r)
		first := r.Enter()
		for r.Next() {
			in := wire.Scratch[inner](&o.Inner, &r)
			second := r.Enter()
			for r.Next() {
				in.Number += r.Uint64()
			}
			r.Leave(second)
		}
		r.Leave(first)
	}
	if !r.OK() {
		t.Fatal("cannot be read")
	}
	return list
}

// update derives one value from each inner message, and two texts from each value.
func update(a *wire.Arena, list []outer) (all [][]made, texts [][]string) {
	for _, o := range wire.Each(list) {
		one := wire.List[made, inner](a, len(o.Inner))
		for _, in := range wire.Each(o.Inner) {
			one = append(one, made{in.Number})
			s := wire.Strings[inner](a, 2)
			for range 2 {
				s = append(s, a.Text(fmt.Append(a.Buffer(8), in.Number)))
			}
			texts = append(texts, s)
		}
		all = append(all, one)
	}
	return all, texts
}

// Lists of any sizes do not share elements.
func TestArena(t *testing.T) {
	var pool wire.Pool
	for _, sizes := range [][]int{{}, {0}, {1}, {3, 3, 3}, {1, 50, 2}, {50, 1}, {0, 4, 0, 4}, {2000, 2000}, {1, 5000}, {3, 3, 3}, {30}} {
		a := pool.Get()
		all, texts := update(a, parse(t, a.Read(outers(sizes...), nil)))
		pool.Put(a)
		if len(all) != len(sizes) {
			t.Fatalf("%v: %d lists", sizes, len(all))
		}
		k := 0
		for i, list := range all {
			if len(list) != sizes[i] || cap(list) != sizes[i] {
				t.Fatalf("%v: list %d has %d elements, room for %d", sizes, i, len(list), cap(list))
			}
			for j, x := range list {
				want := uint64(100*i + j)
				if s := texts[k]; x.Number != want || len(s) != 2 || s[0] != fmt.Sprint(want) || s[1] != s[0] {
					t.Fatalf("%v: element %d of list %d is %v, with texts %q", sizes, j, i, x, s)
				}
				k++
			}
		}
	}
}

// Similar lists cost as many allocations as one. A control plane cannot make an arena allocate much
// more than needed.
func TestArenaAllocations(t *testing.T) {
	allocations := func(body []byte) float64 {
		return testing.AllocsPerRun(20, func() {
			var a wire.Arena
			list := parse(t, a.Read(body, nil))
			for _, o := range wire.Each(list) {
				wire.List[made, inner](&a, len(o.Inner))
				for range o.Inner {
					wire.Strings[inner](&a, 1)
				}
			}
		})
	}
	few, many := allocations(outers(10)), allocations(outers(10, 10, 10, 10, 10, 10, 10, 10))
	if many > few {
		t.Errorf("8 lists are %v allocations, one list %v", many, few)
	}
	var a wire.Arena
	parse(t, a.Read(outers(1, 100), nil))
	if s := wire.Strings[inner](&a, 1<<20); cap(s) != 1<<20 {
		t.Errorf("room for %d strings", cap(s))
	}
	if s := wire.Strings[inner](&a, 2000); cap(s) != 2000 {
		t.Errorf("room for %d strings", cap(s))
	}
}

func TestHookValues(t *testing.T) {
	if got := wire.Pointers([]inner(nil)); got != nil {
		t.Errorf("Pointers(nil) = %v", got)
	}
	list := []inner{{1}, {2}}
	if got := wire.Pointers(list); len(got) != 2 || got[1] != &list[1] {
		t.Errorf("Pointers = %v", got)
	}
	numbers := wire.MessageMap(wire.Entry(wire.Entry(nil, "a", &list[0], new(wire.Reader)), "b", &list[1], new(wire.Reader)), func(x *inner) uint64 { return x.Number })
	if len(numbers) != 2 || numbers["b"] != 2 {
		t.Errorf("MessageMap = %v", numbers)
	}
}

// A new element is zero, with or without room for it. Filled elements keep their values.
func TestAdd(t *testing.T) {
	list := make([]int, 0, 2)
	for i := range 5 {
		x := wire.Add(&list)
		if *x != 0 {
			t.Errorf("element %d is %d before it is filled", i, *x)
		}
		*x = i + 1
	}
	if want := []int{1, 2, 3, 4, 5}; !slices.Equal(list, want) {
		t.Errorf("the list is %v; want %v", list, want)
	}
}

// A text that outgrows its buffer is complete, and so are the texts before and after it.
func TestTextBeyondBuffer(t *testing.T) {
	var a wire.Arena
	var got []string
	for _, text := range []string{"ab", "a text longer than announced", "", "cd"} {
		got = append(got, a.Text(append(a.Buffer(2), text...)))
	}
	if want := []string{"ab", "a text longer than announced", "", "cd"}; !slices.Equal(got, want) {
		t.Errorf("texts are %q; want %q", got, want)
	}
}

// The lists of views of a resource are allocated once, even if they are many and short.
func TestScratchIsReused(t *testing.T) {
	body := outers(slices.Repeat([]int{1}, 300)...)
	a := new(wire.Arena)
	var pool wire.Pool
	allocations := func() float64 {
		return testing.AllocsPerRun(1, func() {
			r := a.Read(body, nil)
			for r.Next() {
				var list []inner
				first := r.Enter()
				for r.Next() {
					wire.Scratch[inner](&list, &r)
					r.Skip()
				}
				r.Leave(first)
			}
			pool.Put(a) // the arena stays usable
		})
	}
	allocations()
	if got := allocations(); got > 2 { // the pool takes some
		t.Errorf("a resource like the last one takes %v allocations; want none for its views", got)
	}
}
