package builtin

import (
	"net/http"
	"slices"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/writer"
	"github.com/xdsforge/xdsforge/internal/extensions/headerchange"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/headermutation"
)

func headerMutation() httpfilter.Filter {
	return httpfilter.Filter{
		HTTPFilter: headermutation.Filter(),
		NewServer: httpfilter.Stateless(func(config, override any) (httpfilter.Middleware, error) {
			c, err := mutations(config, override)
			if err != nil {
				return nil, err
			}
			return mutate(c), nil
		}),
		NewClient: httpfilter.ClientStateless(func(config, override any) (httpfilter.ClientMiddleware, error) {
			c, err := mutations(config, override)
			if err != nil {
				return nil, err
			}
			return mutateClient(c), nil
		}),
	}
}

// mutations returns the changes of a configuration and of its override, in order.
func mutations(config, override any) (headermutation.Config, error) {
	c, err := read[headermutation.Config](config)
	if err != nil || override == nil {
		return c, err
	}
	o, err := read[headermutation.Config](override)
	c.Request = append(slices.Clip(c.Request), o.Request...)
	c.Response = append(slices.Clip(c.Response), o.Response...)
	return c, err
}

// mutate returns the middleware of changes. It is nil without changes.
func mutate(c headermutation.Config) httpfilter.Middleware {
	if len(c.Request)+len(c.Response) == 0 {
		return nil
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(c.Request) > 0 {
				r = changed(r, c.Request)
			}
			if len(c.Response) == 0 {
				next.ServeHTTP(w, r)
				return
			}
			out, commit := writer.New(w, writer.Hooks{Headers: func(h http.Header) { headerchange.Apply(h, c.Response) }})
			next.ServeHTTP(out, r)
			commit()
		})
	}
}

// changed returns a copy of a request with changed headers.
func changed(r *http.Request, changes []headerchange.Change) *http.Request {
	out := new(http.Request)
	*out = *r
	if out.Header = r.Header.Clone(); out.Header == nil {
		out.Header = make(http.Header)
	}
	headerchange.Apply(out.Header, changes)
	return out
}

// mutateClient is mutate for clients.
func mutateClient(c headermutation.Config) httpfilter.ClientMiddleware {
	if len(c.Request)+len(c.Response) == 0 {
		return nil
	}
	return func(next http.RoundTripper) http.RoundTripper {
		return httpfilter.RoundTrip(func(r *http.Request) (*http.Response, error) {
			if len(c.Request) > 0 {
				r = changed(r, c.Request)
			}
			resp, err := next.RoundTrip(r)
			if err == nil {
				headerchange.Apply(resp.Header, c.Response)
			}
			return resp, err
		})
	}
}
