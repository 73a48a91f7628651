package route

import (
	"strings"

	"github.com/xdsforge/xdsforge/framework/matcher"
)

// An HTTPRequest has the parts of a request that routes of profile HTTP match. It may have a method ClientCertificate() (presented,
// validated bool), which returns whether the client presented a certificate and whether the server has verified it. Otherwise there
// is no certificate.
type HTTPRequest interface {
	// Values returns the values of a header. The name is in lower case. It may be that of a pseudo-header.
	Values(name string) []string
	// Query returns the first value of a query parameter.
	Query(name string) (string, bool)
}

// MatchHTTP returns the index of the first route that matches a request, or -1 if none does. Unlike Match, it reads query
// parameters and all headers, and assumes no content type. The path has no query.
func (h *VirtualHost) MatchHTTP(path string, r HTTPRequest) int {
	if h == nil {
		return -1
	}
	if r == nil {
		r = noRequest{}
	}
	if h.table == nil {
		for i := range h.Routes {
			if h.matchesHTTP(i, path, r) {
				return i
			}
		}
		return -1
	}
	for c := h.table.candidates(path); ; {
		i, ok := c.next()
		if !ok || int(i) >= len(h.Routes) { // the program changed its copy
			return -1
		}
		if h.matchesHTTP(int(i), path, r) {
			return int(i)
		}
	}
}

func (h *VirtualHost) matchesHTTP(i int, path string, r HTTPRequest) bool {
	m := &h.Routes[i]
	if m.Ignored != "" || !m.matchesPath(path) {
		return false
	}
	for j := range m.Headers {
		if !MatchHTTPHeader(&m.Headers[j], r.Values) {
			return false
		}
	}
	if x := h.HTTP(i); x != nil {
		for j := range x.Query {
			if !x.Query[j].Match(r.Query) {
				return false
			}
		}
		if !x.conditions.match(r) {
			return false
		}
	}
	return m.PerMillion == nil || rollMillion() < *m.PerMillion
}

// MatchHTTPHeader reports whether the values of a header match. values returns those of a header by its name in lower case.
func MatchHTTPHeader(m *matcher.Header, values func(name string) []string) bool {
	switch v := values(m.Name); len(v) {
	case 0:
		return m.Match("", false)
	case 1:
		return m.Match(v[0], true)
	default:
		return m.Match(strings.Join(v, ","), true)
	}
}

// noRequest stands for a nil HTTPRequest.
type noRequest struct{}

// Values implements [HTTPRequest].
func (noRequest) Values(string) []string { return nil }

// Query implements [HTTPRequest].
func (noRequest) Query(string) (string, bool) { return "", false }
