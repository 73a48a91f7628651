package route

import (
	"math/rand/v2"
	"strings"

	"github.com/xdsforge/xdsforge/framework/matcher"
)

// Headers are the headers of a call.
type Headers interface {
	// Values returns the values of a header. The name is in lower case.
	Values(name string) []string
}

// Metadata implements [Headers] for gRPC metadata.
type Metadata map[string][]string

// Values implements [Headers].
func (m Metadata) Values(name string) []string { return m[name] }

// Match returns the first route that matches a call, or nil if none does. The path is that
// of the method, such as "/package.Service/Method". Match is safe for concurrent use.
//
// It allocates only if a matched header has several values, if case is ignored, or if the
// path is longer than 256 bytes. The number of routes with different exact or prefix
// matches does not affect its speed.
func (h *VirtualHost) Match(path string, headers Headers) *Route {
	return h.match(path, headers, rollMillion)
}

// rollMillion draws a random number below a million, for routes that take a share of the
// calls.
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
		if int(i) >= len(h.Routes) { // the program changed its copy
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
	case SeparatedPrefix:
		n := len(p.Value)
		return len(path) >= n && (len(path) == n || path[n] == '/') && r.samePath(path[:n], p.Value)
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

// equalFold compares like Envoy: it folds the case of ASCII letters only.
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

// matchHeader matches one header of a call.
func matchHeader(m *matcher.Header, headers Headers) bool {
	return m.Match(headerValue(m.Name, headers))
}

// headerValue returns a header that A28 exposes to routes, and whether it is there. Binary headers are not exposed. A call
// without a content type has gRPC's.
func headerValue(name string, headers Headers) (value string, there bool) {
	if strings.HasSuffix(name, "-bin") {
		return "", false
	}
	var values []string
	if headers != nil {
		values = headers.Values(name)
	}
	switch {
	case len(values) == 1:
		return values[0], true
	case len(values) > 1:
		return strings.Join(values, ","), true
	case name == "content-type":
		return "application/grpc", true
	default:
		return "", false
	}
}
