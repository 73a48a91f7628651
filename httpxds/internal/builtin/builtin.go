// Package builtin has the HTTP filters that every HTTP server or client can run.
package builtin

import (
	"fmt"
	"math/rand/v2"

	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/extensions/router"
)

// Filters returns the filters.
func Filters() []httpfilter.Filter {
	return []httpfilter.Filter{{HTTPFilter: router.Filter()}, rbacFilter(), corsFilter(), headerMutation(), rateLimit(), faultFilter(), compositeFilter()}
}

// read returns a configuration as the parsing half of a filter has it.
func read[T any](config any) (T, error) {
	c, ok := config.(T)
	if !ok {
		return c, fmt.Errorf("the configuration is a %T; must be a %T", config, c)
	}
	return c, nil
}

// drawn reports whether a share of requests, per million, includes this one.
func drawn(perMillion uint32) bool {
	return perMillion >= 1_000_000 || perMillion > 0 && rand.Uint32N(1_000_000) < perMillion
}
