package route

import (
	"math/rand/v2"
	"strings"

	"github.com/xdsforge/xdsforge/framework/matcher"
)

// Headers are the headers of a call.
type Headers interface {
	// Values are the values of a header, whose name is in lower case.
	Values(name string) []string
}

// Metadata is [Headers] in the form that gRPC has them.
type Metadata map[string][]string

// Values implements [Headers].
func (m Metadata) Values(name string) []string { return m[name] }

// Match is the first route that takes a call: path is that of the method, such as
// "/package.Service/Method". Nil: none does. It may be called from several goroutines.
//
// It allocates nothing unless a matched header has several values, a case is to be
// ignored, or the path is longer than 256 bytes. Where routes differ in how their paths
// are matched exactly or by prefix, their number does not matter.
func (h *VirtualHost) Match(path string, headers Headers) *Route {
	return h.match(path, headers, rollMillion)
}

// rollMillion decides about shares of calls.
func rollMillion() uint32 { return rand.Uint32N(1_000_000) }

func (h *VirtualHost) match(path string, headers Headers, roll func() uint32) *Route {
	if h == nil {
		return nil
	}
	if h.table == nil {
		for i := range h.Routes {
			if r := &h.Routes[i]; r.matches(path, headers, roll) {
				return r
			}
		}
		return nil
	}
	for c := h.table.candidates(path); ; {
		i, ok := c.next()
		if !ok {
			return nil
		}
		if int(i) >= len(h.Routes) { // a program has changed its copy
			return nil
		}
		if r := &h.Routes[i]; r.matches(path, headers, roll) {
			return r
		}
	}
}

func (r *Route) matches(path string, headers Headers, roll func() uint32) bool {
	if r.Ignored != "" || !r.matchesPath(path) {
		return false
	}
	for i := range r.Headers {
		if !matchHeader(&r.Headers[i], headers) {
			return false
		}
	}
	return r.PerMillion == nil || roll() < *r.PerMillion
}

func (r *Route) matchesPath(path string) bool {
	switch p := r.Path.(type) {
	case Prefix:
		return len(path) >= len(p.Value) && r.samePath(path[:len(p.Value)], p.Value)
	case Exact:
		return r.samePath(path, p.Value)
	case Regex:
		return p.Pattern != nil && p.Pattern.MatchString(path)
	default:
		return false
	}
}

func (r *Route) samePath(a, b string) bool {
	return a == b || !r.CaseSensitive && len(a) == len(b) && equalFold(a, b)
}

// equalFold compares as Envoy does: only the letters of ASCII have two cases.
func equalFold(a, b string) bool {
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// matchHeader looks at what A28 lets routes see: no binary headers, and the content
// type of gRPC where the call says none.
func matchHeader(m *matcher.Header, headers Headers) bool {
	if strings.HasSuffix(m.Name, "-bin") {
		return m.Match("", false)
	}
	var values []string
	if headers != nil {
		values = headers.Values(m.Name)
	}
	switch {
	case len(values) == 1:
		return m.Match(values[0], true)
	case len(values) > 1:
		return m.Match(strings.Join(values, ","), true)
	case m.Name == "content-type":
		return m.Match("application/grpc", true)
	default:
		return m.Match("", false)
	}
}
