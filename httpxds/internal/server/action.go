package server

import (
	"io"
	"net/http"

	"github.com/xdsforge/xdsforge/httpxds/internal/writer"
	"github.com/xdsforge/xdsforge/internal/dataplane/server"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// localRoutes returns the routes to which the server itself responds: redirects and direct responses.
func localRoutes(list []server.Routes) map[*route.Route]bool {
	out := make(map[*route.Route]bool)
	for _, r := range list {
		if r.Err != nil {
			continue
		}
		for i := range r.Update.VirtualHosts {
			h := &r.Update.VirtualHosts[i]
			for j := range h.Routes {
				if x := h.HTTP(j); x != nil && (x.Redirect != nil || x.Direct != nil) {
					out[&h.Routes[j]] = true
				}
			}
		}
	}
	return out
}

// action returns the handler of a route's action, with the route's header changes. It is shared if other routes with the
// same kind of action have the same handler.
func (b *backend) action(t *route.Route, x *route.HTTPRoute) (handler http.Handler, shared bool) {
	shared = true
	_, own := t.Action.(route.NonForwarding)
	switch {
	case x != nil && x.Direct != nil:
		handler, shared = direct(x.Direct), false
	case x != nil && x.Redirect != nil:
		handler, shared = b.redirect(t, x.Redirect), false
	case own:
		handler = b.config.Handler
	case b.served(t):
		handler = b.forward
	default:
		return http.HandlerFunc(unavailable), false
	}
	if x != nil && len(x.Headers.Request)+len(x.Headers.Response) > 0 {
		return b.changes(&x.Headers, handler), false
	}
	return handler, shared
}

// direct returns the handler of a direct response.
func direct(d *route.DirectResponse) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if d.Body != "" {
			w.Header().Set("Content-Type", "text/plain")
		}
		w.WriteHeader(d.Status)
		_, _ = io.WriteString(w, d.Body) // the client may have gone
	})
}

// redirect returns the handler of a redirect.
func (b *backend) redirect(t *route.Route, d *route.Redirect) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", b.config.Location(r, t, d))
		w.WriteHeader(d.Status)
	})
}

// changes returns a handler that changes the headers of requests before next, and those of its responses.
func (b *backend) changes(c *route.HeaderChanges, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		original := r
		if len(c.Request) > 0 {
			changed := *r
			changed.Header = r.Header.Clone()
			b.config.Change(changed.Header, c.Request, original)
			r = &changed
		}
		if len(c.Response) == 0 {
			next.ServeHTTP(w, r)
			return
		}
		out, commit := writer.New(w, writer.Hooks{Headers: func(h http.Header) { b.config.Change(h, c.Response, original) }})
		next.ServeHTTP(out, r)
		commit()
	})
}
