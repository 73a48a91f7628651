package builtin

import (
	"errors"
	"net"
	"net/http"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/origin"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/rbac"
)

var errAudit = errors.New("rbac: audit loggers are configured; must not be, because they run only in gRPC servers")

func rbacFilter() httpfilter.Filter {
	return httpfilter.Filter{
		HTTPFilter: rbac.Filter(),
		NewServer: httpfilter.Stateless(func(config, override any) (httpfilter.Middleware, error) {
			if override != nil {
				config = override
			}
			c, err := read[rbac.Config](config)
			switch {
			case err != nil || c.Rules == nil:
				return nil, err
			case len(c.Audit.Loggers) > 0 && (c.Audit.OnAllow || c.Audit.OnDeny):
				return nil, errAudit
			}
			return enforce(&c), nil
		}),
	}
}

// enforce returns the middleware of rules. It responds to denied requests as Envoy does.
func enforce(c *rbac.Config) httpfilter.Middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			call := rulesCall(r)
			if _, allowed := c.Evaluate(&call); !allowed {
				http.Error(w, "RBAC: access denied", http.StatusForbidden)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
}

// rulesCall returns the properties of a request that rules match. The path is the one that the handler serves.
func rulesCall(r *http.Request) rbac.Call {
	target := r.URL.Path
	if r.URL.RawQuery != "" {
		target += "?" + r.URL.RawQuery
	}
	c := rbac.Call{
		Method: r.URL.Path, Remote: origin.Peer(r), Client: origin.Client(r).Addr(),
		HTTP: &rbac.Request{Verb: r.Method, Target: target, Authority: r.Host, Scheme: origin.Scheme(r), Values: r.Header.Values},
	}
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		c.Local = origin.Parse(a.String())
	}
	if r.TLS != nil {
		c.TLS, c.HTTP.ServerName = true, r.TLS.ServerName
		if len(r.TLS.PeerCertificates) > 0 {
			c.Certificate = r.TLS.PeerCertificates[0]
		}
	}
	return c
}
