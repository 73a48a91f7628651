package route

import (
	"cmp"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/hostport"
)

// A hostTable finds the virtual host for an authority. It is immutable.
type hostTable struct {
	exact              map[string]int
	suffixes, prefixes []wildcards // longest first
	any                int         // the virtual host of "*", or -1 if there is none
}

// wildcards are the domains that have a * and the same number of other characters.
type wildcards struct {
	length int
	hosts  map[string]int
}

// Equal reports true: the table is derived from the virtual hosts, which are compared
// themselves.
func (t *hostTable) Equal(*hostTable) bool { return true }

// VirtualHost returns the virtual host for the authority of a call or for the name of a
// client's target (A28). An exact domain is preferred, then the longest domain with a * at
// the start, then the longest with a * at the end, then "*". The comparison ignores case.
// VirtualHost returns nil if no domain matches. With IgnorePort, the port of the authority is not compared.
//
// It allocates only if the authority has upper-case letters. It is safe for concurrent use.
func (u *Update) VirtualHost(authority string) *VirtualHost {
	if u == nil {
		return nil
	}
	t := u.hosts
	if t == nil { // the update does not come from a decoder
		t, _ = newHostTable(nil, u.VirtualHosts)
	}
	if u.IgnorePort {
		authority, _, _ = hostport.Cut(authority)
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
		if w.length < len(authority) { // the * must match at least one character
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

// add adds a domain, unless another virtual host already has it. A domain with a * in the
// middle matches nothing.
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
