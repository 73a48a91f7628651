package statuspage

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// secure sets the headers that protect browsers. There is no header for other origins (CORS), so their
// scripts cannot read the pages.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept")
}

// refusal returns the reason not to answer a request, or nil.
func (s *site) refusal(r *http.Request) *failure {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return &failure{http.StatusMethodNotAllowed, "method = " + quoted(r.Method) + "; must be GET or HEAD, because the pages change nothing"}
	case !s.serves(r.Host):
		return &failure{http.StatusMisdirectedRequest, "host = " + quoted(r.Host) + "; must be an IP address, localhost, or one of statuspage.Config.Hosts"}
	case len(r.URL.RawQuery) > maxQuery:
		return &failure{http.StatusRequestURITooLong, "the query is too long"}
	}
	return nil
}

// serves reports whether browsers may reach the handler by a host. A page of another site can make its
// own name resolve to this address (DNS rebinding), but it cannot use an IP address or localhost as its
// name.
func (s *site) serves(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") ||
		slices.ContainsFunc(s.config.Hosts, func(h string) bool { return strings.EqualFold(h, name) })
}
