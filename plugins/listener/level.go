package listener

import (
	"cmp"
	"net/netip"
	"slices"
)

// A level decides by an address: it has something for each of some prefixes, and
// perhaps something for any address. While it is made, prefixes are in a map; frozen,
// they are intervals that do not overlap, in the order of addresses, so that finding
// the longest prefix of an address is one binary search.
type level[T any] struct {
	made      map[netip.Prefix]*T
	any       *T
	intervals []interval[T]
}

// An interval starts at an address and ends where the next one starts.
type interval[T any] struct {
	start netip.Addr
	value *T // nil: no prefix has these addresses
}

// at is what there is for a prefix, made if it is not there; the zero prefix is any
// address.
func (l *level[T]) at(p netip.Prefix) *T {
	if p == (netip.Prefix{}) {
		if l.any == nil {
			l.any = new(T)
		}
		return l.any
	}
	if l.made == nil {
		l.made = make(map[netip.Prefix]*T)
	}
	if l.made[p] == nil {
		l.made[p] = new(T)
	}
	return l.made[p]
}

// find is what there is for the longest prefix of an address, or else for any address,
// or else nil.
func (l *level[T]) find(a netip.Addr) *T {
	low, high := 0, len(l.intervals) // the last interval that starts at a or below
	for low < high {
		if mid := (low + high) / 2; l.intervals[mid].start.Compare(a) <= 0 {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low > 0 && l.intervals[low-1].value != nil {
		return l.intervals[low-1].value
	}
	return l.any
}

// freeze makes the intervals, and freezes everything below. A nil level is frozen.
func (l *level[T]) freeze(below func(*T)) {
	if l == nil {
		return
	}
	if l.any != nil {
		below(l.any)
	}
	prefixes := make([]netip.Prefix, 0, len(l.made))
	for p, v := range l.made {
		below(v)
		prefixes = append(prefixes, p)
	}
	slices.SortFunc(prefixes, func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	var open []netip.Prefix // each within the one before
	closeUntil := func(keep func(netip.Prefix) bool) {
		for len(open) > 0 && !keep(open[len(open)-1]) {
			end := after(open[len(open)-1])
			open = open[:len(open)-1]
			var outer *T
			if len(open) > 0 {
				outer = l.made[open[len(open)-1]]
			}
			if end.IsValid() {
				l.start(end, outer)
			}
		}
	}
	for _, p := range prefixes {
		closeUntil(func(o netip.Prefix) bool { return o.Contains(p.Addr()) })
		l.start(p.Addr(), l.made[p])
		open = append(open, p)
	}
	closeUntil(func(netip.Prefix) bool { return false })
	l.made = nil
}

// start begins an interval. Of several that start at one address, the last counts.
func (l *level[T]) start(a netip.Addr, value *T) {
	if n := len(l.intervals); n > 0 && l.intervals[n-1].start == a {
		l.intervals[n-1].value = value
		return
	}
	l.intervals = append(l.intervals, interval[T]{a, value})
}

// after is the first address after those of a prefix. After the last IPv4 address come
// those of IPv6; after these, there is none.
func after(p netip.Prefix) netip.Addr {
	last := p.Addr().AsSlice()
	for i := p.Bits(); i < len(last)*8; i++ {
		last[i/8] |= 0x80 >> (i % 8)
	}
	a, _ := netip.AddrFromSlice(last)
	if next := a.Next(); next.IsValid() || a.Is6() {
		return next
	}
	return netip.IPv6Unspecified()
}
