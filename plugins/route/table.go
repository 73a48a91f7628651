package route

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A table finds the routes whose path may match. It is immutable. It is nil if there are so
// few routes that trying all of them is as fast.
type table struct {
	exact, exactFold map[string][]int32 // exactFold is keyed by the path in lower case
	prefixes         []prefixes
	others           []int32 // routes that must be tried one by one
}

// prefixes are the routes with prefixes of one length.
type prefixes struct {
	length int
	fold   bool
	routes map[string][]int32
}

// maxPrefixes limits the prefix lengths that are looked up. Routes with other lengths are
// tried one by one.
const maxPrefixes = 24

// few is the largest number of routes that are tried one by one.
const few = 8

// Equal reports true: the table is derived from the routes, which are compared themselves.
func (t *table) Equal(*table) bool { return true }

func newTable(_ *resource.DecodeContext, routes []Route) (*table, error) { //nolint:unparam // the type of a hook
	if len(routes) <= few {
		return nil, nil //nolint:nilnil // see table
	}
	t := &table{exact: make(map[string][]int32), exactFold: make(map[string][]int32)}
	for i := range routes {
		t.add(int32(i), &routes[i])
	}
	return t, nil
}

func (t *table) add(i int32, r *Route) {
	switch p := r.Path.(type) {
	case Exact:
		if r.CaseSensitive {
			t.exact[p.Value] = append(t.exact[p.Value], i)
		} else {
			key := string(appendLower(nil, p.Value))
			t.exactFold[key] = append(t.exactFold[key], i)
		}
	case Prefix:
		t.addPrefix(i, p.Value, !r.CaseSensitive)
	case SeparatedPrefix:
		t.addPrefix(i, p.Value, !r.CaseSensitive)
	default:
		t.others = append(t.others, i)
	}
}

func (t *table) addPrefix(i int32, prefix string, fold bool) {
	if fold {
		prefix = string(appendLower(nil, prefix))
	}
	at := slices.IndexFunc(t.prefixes, func(p prefixes) bool { return p.length == len(prefix) && p.fold == fold })
	switch {
	case at < 0 && len(t.prefixes) == maxPrefixes:
		t.others = append(t.others, i)
		return
	case at < 0:
		at = len(t.prefixes)
		t.prefixes = append(t.prefixes, prefixes{len(prefix), fold, make(map[string][]int32)})
	}
	group := t.prefixes[at].routes
	group[prefix] = append(group[prefix], i)
}

func appendLower(b []byte, s string) []byte {
	for i := range len(s) {
		b = append(b, lower(s[i]))
	}
	return b
}

// candidates iterates over the routes that may match a path, in their order.
type candidates struct {
	n     int
	lists [maxPrefixes + 3][]int32
}

func (t *table) candidates(path string) (c candidates) {
	var buf [256]byte
	var folded []byte
	if len(t.exactFold) > 0 || slices.ContainsFunc(t.prefixes, func(p prefixes) bool { return p.fold }) {
		folded = appendLower(buf[:0], path)
	}
	c.add(t.exact[path])
	c.add(t.exactFold[string(folded)])
	c.add(t.others)
	for i := range t.prefixes {
		switch p := &t.prefixes[i]; {
		case len(path) < p.length:
		case p.fold:
			c.add(p.routes[string(folded[:p.length])])
		default:
			c.add(p.routes[path[:p.length]])
		}
	}
	return c
}

func (c *candidates) add(list []int32) {
	if len(list) > 0 {
		c.lists[c.n] = list
		c.n++
	}
}

// next returns the first remaining candidate.
func (c *candidates) next() (route int32, ok bool) {
	first := -1
	for i := range c.n {
		if len(c.lists[i]) > 0 && (first < 0 || c.lists[i][0] < c.lists[first][0]) {
			first = i
		}
	}
	if first < 0 {
		return 0, false
	}
	route = c.lists[first][0]
	c.lists[first] = c.lists[first][1:]
	return route, true
}
