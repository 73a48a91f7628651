package xdsconfig

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// discovered are the HTTP filters of a Listener with the configurations that are separate resources (A104).
type discovered struct {
	filters    []listener.HTTPFilter
	extensions []*extension.Update // the configurations that are separate resources, in the order of the list
}

// HTTPFilters returns the HTTP filters of the Listener. The configurations of all filters are set (A104).
func (c *Config) HTTPFilters() []listener.HTTPFilter {
	if c.discovered.extensions != nil {
		return c.discovered.filters
	}
	return c.Listener.API.Filters
}

// Extensions returns the configurations of HTTP filters that are separate resources, in the order of the filters (A104).
func (c *Config) Extensions() []*extension.Update { return c.discovered.extensions }

// discover sets the HTTP filters of the configuration. It watches each resource before it returns an error. The error is
// errPending if some of them are not known yet.
func (w *traversal) discover(l *listener.Update) (ambient []error, err error) {
	var found discovered
	var pending error
	found.filters, err = filters.Discover(l.API.Filters, resource.ClientSide, func(name string) (*extension.Update, error) {
		n := watch(w.Watcher, w.watches.extensions, extension.Type(), name)
		switch {
		case !n.known:
			pending = errPending
			return nil, errPending
		case n.err != nil:
			return nil, n.err
		}
		found.extensions = append(found.extensions, n.update)
		ambient = append(ambient, n.ambient)
		return n.update, nil
	})
	if pending != nil {
		return nil, pending
	}
	w.config.discovered = found
	return ambient, err
}
