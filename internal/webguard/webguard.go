// Package webguard protects the pages that a program shows to operators: against scripts of other
// sites, and against sites whose names resolve to the address of the program.
package webguard

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// MaxQuery is the limit of the length of a query, in bytes.
const MaxQuery = 64 << 10

// Secure sets the headers that protect browsers. There is no header for other origins (CORS), so their
// scripts cannot read the pages.
func Secure(h http.Header) {
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

// Refusal returns the HTTP status and the reason not to answer a request, or zero. hosts are the names
// under which browsers may reach the handler; option is the setting of the program that has them.
func Refusal(r *http.Request, hosts []string, option string) (code int, reason string) {
	quoted := func(s string) string { return printable.Quote(s, printable.Short) }
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, "method = " + quoted(r.Method) + "; must be GET or HEAD, because the pages change nothing"
	case !serves(r.Host, hosts):
		return http.StatusMisdirectedRequest, fmt.Sprintf("host = %s; must be an IP address, localhost, or one of %s", quoted(r.Host), option)
	case len(r.URL.RawQuery) > MaxQuery:
		return http.StatusRequestURITooLong, "the query is too long"
	}
	return 0, ""
}

// serves reports whether browsers may reach the handler by a host. A page of another site can make its
// own name resolve to this address (DNS rebinding), but it cannot use an IP address or localhost as its
// name.
func serves(host string, hosts []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || strings.HasSuffix(name, ".localhost") ||
		slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, name) })
}
