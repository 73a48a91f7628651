package server

import (
	"net/http"
	"slices"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/httpxds/internal/filterlist"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// chainFilters creates the interceptors of one filter chain's routes.
type chainFilters = filterlist.List[httpfilter.ServerInstance, httpfilter.ServerInterceptor]

// newChainFilters returns the chainFilters of a list of filters. The ID is that of the filter chain.
func (b *backend) newChainFilters(set *filters.Set[httpfilter.ServerInstance], id any, list []listener.HTTPFilter) *chainFilters {
	return &chainFilters{
		Set: set, Chain: id, Filters: list, Known: b.config.Filters.Known,
		New: func(e filters.Entry) (httpfilter.ServerInstance, error) {
			return b.config.Filters.Filter(e.Message).NewServer(httpfilter.Host{Name: e.Name, Filter: b.config.Filters.Filter, Logger: b.config.Logger})
		},
	}
}

// wrap returns a handler that passes requests through the filters of a route to next. The zero Position is for requests
// without a route.
func wrap(c *chainFilters, at filterlist.Position, next http.Handler) (http.Handler, error) {
	list, err := c.Interceptors(at)
	if err != nil {
		return nil, err
	}
	for _, i := range slices.Backward(list) {
		next = i.Wrap(next)
	}
	return next, nil
}
