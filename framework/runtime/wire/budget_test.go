package wire

import (
	"testing"
)

// started returns a budget that has just started with a resource.
func started(t *testing.T, q Quotas, s *Shared) *Budget {
	t.Helper()
	b := new(Budget)
	b.Start(q, nil, s)
	if b.Excess() != nil {
		t.Fatal("a fresh budget has denied something")
	}
	return b
}

func spends(t *testing.T, step string, got, want bool) {
	t.Helper()
	if got != want {
		t.Errorf("%s: granted is %t, want %t", step, got, want)
	}
}

// TestNilBudget expects a nil budget to grant everything.
func TestNilBudget(t *testing.T) {
	var b *Budget
	if !b.Elements(1<<40, 8) || !b.Regexp(1<<40) || !b.HasRegexp(1<<40) || !b.Messages(nil, nil) || b.Excess() != nil {
		t.Error("a nil budget denied something")
	}
}

// TestBudget spends the limits of one resource to the last byte and instruction.
func TestBudget(t *testing.T) {
	b := started(t, Quotas{Size: 30, Regexps: 5}, nil)
	spends(t, "3 elements of 8 bytes", b.Elements(3, 8), true)
	spends(t, "the last 6 bytes", b.Elements(6, 1), true)
	spends(t, "5 instructions are left", b.HasRegexp(5), true)
	spends(t, "3 instructions", b.Regexp(3), true)
	spends(t, "2 instructions are left", b.HasRegexp(2), true)
	spends(t, "the last 2 instructions", b.Regexp(2), true)
	spends(t, "no instruction more", b.HasRegexp(0), true)
	spends(t, "1 byte more", b.Elements(1, 1), false)
	spends(t, "nothing, after a denial", b.Elements(0, 0), false)
	if e := b.Excess(); e == nil || *e != (Excess{Count: 1, Size: 1, at: -1}) {
		t.Errorf("the denied cost is %+v", e)
	}

	b = started(t, Quotas{Regexps: 5}, nil)
	spends(t, "6 instructions are too many", b.HasRegexp(6), false)
	if e := b.Excess(); e == nil || *e != (Excess{Count: 6, Regexps: true, at: -1}) {
		t.Errorf("the denied cost is %+v", e)
	}
	b.Start(Quotas{Regexps: 5}, nil, nil)
	spends(t, "6 instructions", b.Regexp(6), false)
	spends(t, "nothing, after a denial", b.HasRegexp(0), true) // which spends nothing
	spends(t, "1 instruction, after a denial", b.Regexp(1), false)
	if e := b.Excess(); e == nil || *e != (Excess{Count: 6, Regexps: true, at: -1}) {
		t.Errorf("the denied cost is %+v", e)
	}
}

// TestBudgetKeepsCosts expects Start to keep costs and the shared limit unless the caller gives
// others.
func TestBudgetKeepsCosts(t *testing.T) {
	costs, shared := new(Costs), NewShared(Quotas{})
	b := new(Budget)
	b.Start(Quotas{}, costs, shared)
	b.Start(Quotas{}, nil, nil)
	if b.costs != costs || b.size.shared != &shared.size || b.regexps.shared != &shared.regexps {
		t.Error("Start without costs and shared limits dropped those that the budget had")
	}
}

// TestSharedLimit spends the limit that the resources of a response share. A budget takes more than
// it needs, and uses the rest next.
func TestSharedLimit(t *testing.T) {
	const plenty = 1 << 40
	quotas := Quotas{Size: plenty, Regexps: plenty}
	shared := NewShared(Quotas{Size: 2*grant + 10, Regexps: 7})
	left := func(step string, want int64) {
		t.Helper()
		if got := shared.size.left.Load(); got != want {
			t.Errorf("%s: the response has %d bytes left, want %d", step, got, want)
		}
	}
	first, second := started(t, quotas, shared), started(t, quotas, shared)
	spends(t, "10 bytes", first.Elements(10, 1), true)
	left("10 bytes and a grant are taken", grant)
	spends(t, "the whole grant", first.Elements(grant, 1), true)
	left("the grant is used", grant)
	spends(t, "more than there is for both", second.Elements(grant+1, 1), false)
	if e := second.Excess(); e == nil || *e != (Excess{Count: grant + 1, Size: 1, Response: true, at: -1}) {
		t.Errorf("the denied cost is %+v", e)
	}
	left("a denial takes nothing", grant)
	spends(t, "all but a byte, without a further grant", first.Elements(grant-1, 1), true)
	left("1 byte is left", 1)
	spends(t, "the last byte", first.Elements(1, 1), true)
	left("nothing is left", 0)
	spends(t, "1 byte more", first.Elements(1, 1), false)

	third := started(t, quotas, shared)
	spends(t, "7 instructions", third.Regexp(7), true)
	spends(t, "1 instruction more", third.Regexp(1), false)
	if e := third.Excess(); e == nil || *e != (Excess{Count: 1, Regexps: true, Response: true, at: -1}) {
		t.Errorf("the denied cost is %+v", e)
	}
}

// TestRestOfGrant expects a budget to take only the difference to the rest of its grant.
func TestRestOfGrant(t *testing.T) {
	shared := NewShared(Quotas{Size: grant + 30})
	b := started(t, Quotas{Size: 1 << 40}, shared)
	spends(t, "10 bytes", b.Elements(10, 1), true)
	spends(t, "the grant and the last 20 bytes", b.Elements(grant+20, 1), true)
	spends(t, "1 byte more", b.Elements(1, 1), false)
}

// TestLists expects lists and maps to end when the budget is used up.
func TestLists(t *testing.T) {
	varints := []byte{1 << 3, 1, 1 << 3, 2, 1 << 3, 3}
	for size, want := range map[int64]int{0: 0, 8: 1, 15: 1, 24: 2, 10000: 3} {
		b := started(t, Quotas{Size: size}, nil)
		r := b.Within(varints)
		var list []uint64
		for r.Next() {
			list = Append(list, r.Uint64(), &r)
		}
		if len(list) != want || r.OK() != (want == 3) {
			t.Errorf("with %d bytes, the list has %d numbers, OK is %t; want %d", size, len(list), r.OK(), want)
		}
	}
	type three [3]uint64
	for _, typ := range []struct {
		name string
		add  func(*[]uint64, *Reader) *uint64
		each int64
	}{
		{"elements", Element[uint64, uint64], 8},
		{"elements with small values", Element[uint8, uint64], 8},
		{"elements with large values", Element[three, uint64], 24},
		{"scratch with large values", Scratch[three, uint64], 24},
	} {
		for _, short := range []int64{0, 1} {
			b := started(t, Quotas{Size: 3*typ.each - short}, nil)
			r := b.Within(varints)
			var list []uint64
			for r.Next() {
				*typ.add(&list, &r) = r.Uint64()
			}
			if r.OK() != (short == 0) || short == 0 && len(list) != 3 {
				t.Errorf("%s, %d bytes short: the list has %d numbers, OK is %t", typ.name, short, len(list), r.OK())
			}
		}
	}
	cost := int64(made * (entryCost + 8))
	for _, short := range []int64{0, 1} {
		b := started(t, Quotas{Size: cost - short}, nil)
		r := b.Within(varints)
		r.Next()
		var m map[int]uint64
		m = Entry(m, 1, uint64(2), &r)
		if len(m) != 1-int(short) || r.OK() != (short == 0) {
			t.Errorf("with %d bytes short, the map has %d entries, OK is %t", short, len(m), r.OK())
		}
	}
}
