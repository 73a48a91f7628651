package route

import (
	"cmp"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A hostTable finds the virtual host for an authority. It is made once, and is
// immutable.
type hostTable struct {
	exact              map[string]int
	suffixes, prefixes []wildcards // longest first
	any                int         // the virtual host of "*"; -1: there is none
}

// wildcards are the domains with a * and so many other characters.
type wildcards struct {
	length int
	hosts  map[string]int
}

// Equal reports true: a table follows from the virtual hosts, which are compared
// themselves.
func (t *hostTable) Equal(*hostTable) bool { return true }

// VirtualHost is the virtual host for the authority of a call, or for the name that a
// client's target has: the one with the domain that matches best, which is one without
// a *, or else the longest with a * at the start, or else the longest with one at the
// end, or else "*" (A28). The case of letters does not matter. Nil: there is none. It
// allocates nothing, unless the authority has letters in upper case, and may be called
// from several goroutines.
func (u *Update) VirtualHost(authority string) *VirtualHost {
	if u == nil {
		return nil
	}
	t := u.hosts
	if t == nil { // no decoder made the update
		t, _ = newHostTable(nil, u.VirtualHosts)
	}
	i := t.find(strings.ToLower(authority))
	if i < 0 || i >= len(u.VirtualHosts) {
		return nil
	}
	return &u.VirtualHosts[i]
}

func (t *hostTable) find(authority string) int {
	if i, ok := t.exact[authority]; ok {
		return i
	}
	for _, w := range t.suffixes {
		if w.length < len(authority) { // a * stands for something
			if i, ok := w.hosts[authority[len(authority)-w.length:]]; ok {
				return i
			}
		}
	}
	for _, w := range t.prefixes {
		if w.length < len(authority) {
			if i, ok := w.hosts[authority[:w.length]]; ok {
				return i
			}
		}
	}
	return t.any
}

func newHostTable(_ *resource.DecodeContext, hosts []VirtualHost) (*hostTable, error) { //nolint:unparam // the type of a hook
	t := &hostTable{exact: make(map[string]int, len(hosts)), any: -1}
	for i := range hosts {
		for _, domain := range hosts[i].Domains {
			t.add(strings.ToLower(domain), i)
		}
	}
	longest := func(a, b wildcards) int { return cmp.Compare(b.length, a.length) }
	slices.SortFunc(t.suffixes, longest)
	slices.SortFunc(t.prefixes, longest)
	return t, nil
}

// add adds a domain, unless another virtual host has it already. A domain with a *
// within it matches nothing.
func (t *hostTable) add(domain string, host int) {
	suffix, isSuffix := strings.CutPrefix(domain, "*")
	prefix, isPrefix := strings.CutSuffix(domain, "*")
	switch {
	case domain == "*":
		if t.any < 0 {
			t.any = host
		}
	case isSuffix && !strings.Contains(suffix, "*"):
		addWildcard(&t.suffixes, suffix, host)
	case isPrefix && !strings.Contains(prefix, "*"):
		addWildcard(&t.prefixes, prefix, host)
	case !strings.Contains(domain, "*"):
		if _, taken := t.exact[domain]; !taken {
			t.exact[domain] = host
		}
	}
}

func addWildcard(list *[]wildcards, text string, host int) {
	i := slices.IndexFunc(*list, func(w wildcards) bool { return w.length == len(text) })
	if i < 0 {
		i = len(*list)
		*list = append(*list, wildcards{len(text), make(map[string]int)})
	}
	if _, taken := (*list)[i].hosts[text]; !taken {
		(*list)[i].hosts[text] = host
	}
}
