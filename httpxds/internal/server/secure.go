package server

import (
	"net/http"
	"slices"

	"github.com/xdsforge/xdsforge/httpxds/internal/filterlist"
	"github.com/xdsforge/xdsforge/httpxds/internal/origin"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// secured returns the handler that redirects requests to https. It is nil if no virtual host requires TLS. As in Envoy, the
// requests pass the filters with the configurations of the list.
func secured(c *chainFilters, u *route.Update) http.Handler {
	required := func(h route.VirtualHost) bool { return h.RequiresTLS(false) }
	if !slices.ContainsFunc(u.VirtualHosts, required) {
		return nil
	}
	h, err := wrap(c, filterlist.Position{}, http.HandlerFunc(toHTTPS))
	if err != nil { // compile reports the error of requests without a route
		return http.HandlerFunc(unavailable)
	}
	return h
}

// insecure reports whether an admitted request does not meet the requirement of its virtual host.
func insecure(r *http.Request, h *route.VirtualHost) bool {
	return origin.Scheme(r) != "https" && h.RequiresTLS(len(r.Header[envoyInternal]) > 0)
}

// toHTTPS redirects a request to https. As in Envoy, the host keeps its port.
func toHTTPS(w http.ResponseWriter, r *http.Request) {
	if r.Host == "" { // HTTP/1.0
		fail(w, http.StatusBadRequest)
		return
	}
	w.Header().Set("Location", "https://"+r.Host+r.URL.RequestURI())
	w.WriteHeader(http.StatusMovedPermanently)
}
