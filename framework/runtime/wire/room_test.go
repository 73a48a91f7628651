package wire

import "testing"

type element struct{ n int }

// TestPool expects a pool to reuse arenas, and a nil pool to keep none.
func TestPool(t *testing.T) {
	var none *Pool
	none.Put(none.Get())
	p, again := new(Pool), false
	for range 100 { // a sync.Pool may drop an arena
		a := p.Get()
		p.Put(a)
		again = again || p.Get() == a
	}
	if !again {
		t.Error("the pool reused no arena in 100 attempts")
	}
}

// TestScratchIsBounded expects the memory of large lists to be released after their resource.
func TestScratchIsBounded(t *testing.T) {
	for n, kept := range map[int]bool{maxElements: true, maxElements + 1: false} {
		b := &block[element]{scratch: make([]element, n), given: 1}
		b.scratch[0].n = 1
		b.empty()
		if len(b.scratch) != 0 || (cap(b.scratch) == n) != kept || b.given != 0 || kept && b.scratch[:1][0].n != 0 {
			t.Errorf("of room for %d elements there is %d; kept and empty is to be %t", n, cap(b.scratch), kept)
		}
	}
}

// TestListRoom expects the first list to reserve room for the lists of the remaining views.
func TestListRoom(t *testing.T) {
	a := new(Arena)
	blockOf[int](a).given = 10
	made := blockOf[element](a)
	made.given = 4
	if list := List[element, int](a, 2); cap(list) != 2 || len(made.free) != 4 || made.given != 6 {
		t.Errorf("a list of 2 leaves room for %d, want 4 of the 6 that are to come", len(made.free))
	}
	if List[element, int](a, 0) != nil {
		t.Error("an empty list is not nil")
	}
}

// TestStringsRoom expects the first strings to reserve room for those of the other views.
func TestStringsRoom(t *testing.T) {
	a := new(Arena)
	blockOf[element](a).given = 3
	for left := 2; left >= 0; left-- {
		if s := Strings[element](a, 2); cap(s) != 2 || a.left != left || len(a.strings.free) != 2*left {
			t.Errorf("after 2 strings there is room for %d with %d views to come, want %d with %d", len(a.strings.free), a.left, 2*left, left)
		}
	}
	Strings[element](a, 1)
	if a.left != 2 || len(a.strings.free) != 2 {
		t.Errorf("the second list of strings leaves room for %d with %d views to come, want 2 with 2", len(a.strings.free), a.left)
	}
	if Strings[element](a, 0) != nil || a.left != 2 {
		t.Error("no strings took room")
	}
}

// TestBuffer expects one allocation for the texts of several elements, and a new one for longer texts.
func TestBuffer(t *testing.T) {
	a := new(Arena)
	blockOf[element](a).given = 3
	List[string, element](a, 3)
	b := a.Buffer(10)
	if cap(b) != 30 {
		t.Errorf("a text of 10 bytes has room for %d, want 30 for 3 elements", cap(b))
	}
	if s := a.Text(append(b, "0123456789"...)); s != "0123456789" || len(a.text) != 10 {
		t.Errorf("the text is %q, and %d bytes are used", s, len(a.text))
	}
	if b = a.Buffer(20); cap(b) != 20 || len(a.text) != 10 {
		t.Errorf("a text of the last 20 bytes has room for %d", cap(b))
	}
	if b = a.Buffer(25); cap(b) != 50 || len(a.text) != 0 {
		t.Errorf("a text of 25 bytes has room for %d, want 50 for the remaining elements", cap(b))
	}
	a.Text(append(b, make([]byte, 25)...))
	a.Text(append(a.Buffer(25), make([]byte, 25)...))
	if b = a.Buffer(10); cap(b) != 25 {
		t.Errorf("a text of 10 bytes after the last element has room for %d, want 25, half as much as before", cap(b))
	}
	a.texts = maxText
	if b = a.Buffer(76); cap(b) != maxText {
		t.Errorf("many texts have room for %d, want %d", cap(b), maxText)
	}
	if b = a.Buffer(maxText + 1); cap(b) != maxText+1 {
		t.Errorf("a long text has room for %d, want %d", cap(b), maxText+1)
	}
}
