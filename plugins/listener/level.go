package listener

import (
	"cmp"
	"net/netip"
	"slices"
)

// A level maps prefixes, and optionally any address, to values. While it is built, the
// prefixes are in a map. Once frozen, they are sorted intervals that do not overlap, so
// that one binary search finds the longest prefix of an address.
type level[T any] struct {
	made      map[netip.Prefix]*T
	any       *T
	intervals []interval[T]
}

// An interval starts at an address and ends at the start of the next interval.
type interval[T any] struct {
	start netip.Addr
	value *T // nil if no prefix contains these addresses
}

// at returns the value for a prefix and creates it if necessary. The zero prefix means any
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

// find returns the value for the longest prefix of an address, or else for any address, or
// else nil.
func (l *level[T]) find(a netip.Addr) *T {
	low, high := 0, len(l.intervals) // binary search for the last interval that starts at a or below
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

// freeze builds the intervals, and freezes all levels below. It accepts a nil level.
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
	var open []netip.Prefix // each prefix contains the next one
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

// start begins an interval. If several start at one address, the last one wins.
func (l *level[T]) start(a netip.Addr, value *T) {
	if n := len(l.intervals); n > 0 && l.intervals[n-1].start == a {
		l.intervals[n-1].value = value
		return
	}
	l.intervals = append(l.intervals, interval[T]{a, value})
}

// after returns the first address after a prefix. IPv6 addresses follow the last IPv4
// address. After the last IPv6 address, the result is invalid.
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
