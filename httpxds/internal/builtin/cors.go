package builtin

import (
	"net/http"
	"slices"

	"golang.org/x/net/http/httpguts"

	"github.com/xdsforge/xdsforge/framework/matcher"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/writer"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/cors"
)

func corsFilter() httpfilter.Filter {
	return httpfilter.Filter{
		HTTPFilter: cors.Filter(),
		NewServer: httpfilter.Stateless(func(_, override any) (httpfilter.Middleware, error) {
			if override == nil {
				return nil, nil //nolint:nilnil // without a policy, every request passes
			}
			p, err := read[cors.Policy](override)
			if err != nil || p.Enabled == 0 {
				return nil, err
			}
			return share(&p), nil
		}),
	}
}

// share returns the middleware of a policy.
func share(p *cors.Policy) httpfilter.Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			origin := r.Header.Get("Origin")
			if origin == "" || !drawn(p.Enabled) {
				next.ServeHTTP(w, r)
				return
			}
			preflight := r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
			allowed := slices.ContainsFunc(p.Origins, func(s matcher.String) bool { return s.Match(origin) })
			if preflight && (allowed || p.Respond) {
				if allowed {
					allow(w.Header(), p, origin)
					answerPreflight(w.Header(), p, r.Header.Get("Access-Control-Request-Private-Network") == "true")
				}
				w.WriteHeader(http.StatusOK)
				return
			}
			if !allowed {
				next.ServeHTTP(w, r)
				return
			}
			// When the response is sent, so that the headers of a proxied endpoint are replaced.
			out, commit := writer.New(w, writer.Hooks{Headers: func(h http.Header) {
				allow(h, p, origin)
				set(h, "Access-Control-Expose-Headers", p.Expose)
			}})
			next.ServeHTTP(out, r)
			commit()
		})
	}
}

func allow(h http.Header, p *cors.Policy, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	if !httpguts.HeaderValuesContainsToken(h["Vary"], "Origin") {
		h.Add("Vary", "Origin") // so that caches do not give the response to other origins
	}
	if p.Credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
}

func answerPreflight(h http.Header, p *cors.Policy, private bool) {
	set(h, "Access-Control-Allow-Methods", p.Methods)
	set(h, "Access-Control-Allow-Headers", p.Headers)
	set(h, "Access-Control-Max-Age", p.MaxAge)
	if private && p.PrivateNetwork {
		h.Set("Access-Control-Allow-Private-Network", "true")
	}
}

// set sets a header unless the value is empty.
func set(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}
