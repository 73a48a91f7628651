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
			c, err := read[headermutation.Config](config)
			if err != nil {
				return nil, err
			}
			if override != nil {
				o, err := read[headermutation.Config](override)
				if err != nil {
					return nil, err
				}
				c.Request = append(slices.Clip(c.Request), o.Request...)
				c.Response = append(slices.Clip(c.Response), o.Response...)
			}
			return mutate(c), nil
		}),
	}
}

// mutate returns the middleware of changes. It is nil without changes.
func mutate(c headermutation.Config) httpfilter.Middleware {
	if len(c.Request)+len(c.Response) == 0 {
		return nil
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if len(c.Request) > 0 {
				changed := new(http.Request)
				*changed = *r
				changed.Header = r.Header.Clone()
				headerchange.Apply(changed.Header, c.Request)
				r = changed
			}
			if len(c.Response) == 0 {
				next.ServeHTTP(w, r)
				return
			}
			out := writer.New(w, func(h http.Header) { headerchange.Apply(h, c.Response) })
			next.ServeHTTP(out, r)
			out.Commit()
		})
	}
}
