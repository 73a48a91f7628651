package filterchain

import (
	"errors"
	"fmt"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// A Table has the filters that run. It is immutable.
type Table struct {
	filters map[string]httpfilter.Filter // keyed by the message of the configuration
}

// New makes a table. It returns an error if two filters read the same message, or if a filter lacks the half for one
// of its sides. It reports all errors.
func New(filters []httpfilter.Filter) (*Table, error) {
	t := &Table{filters: make(map[string]httpfilter.Filter, len(filters))}
	var errs []error
	for _, f := range filters {
		if err := check(f); err != nil {
			errs = append(errs, err)
			continue
		}
		if _, twice := t.filters[f.Config]; twice {
			errs = append(errs, fmt.Errorf("filterchain: the HTTP filter %s is there twice", f.Config))
		}
		t.filters[f.Config] = f
	}
	return t, errors.Join(errs...)
}

func check(f httpfilter.Filter) error {
	switch {
	case f.HTTPFilter == nil:
		return errors.New("filterchain: a filter's HTTPFilter is nil; it says how the configuration is read")
	case f.Terminal:
		return nil
	case f.Sides&resource.ServerSide != 0 && f.Server == nil:
		return fmt.Errorf("filterchain: Filter.Server of %s is nil; its Sides say that it runs there", f.Config)
	case f.Sides&resource.ClientSide != 0 && f.Client == nil:
		return fmt.Errorf("filterchain: Filter.Client of %s is nil; its Sides say that it runs there", f.Config)
	}
	return nil
}

// Server makes the chain of a server's list of filters. The error names a filter that cannot run. Calls must fail
// then.
func (t *Table) Server(list []listener.HTTPFilter) (*ServerChain, error) {
	c, err := build(t, list, "server", func(f httpfilter.Filter) maker[httpfilter.ServerInterceptor] { return f.Server })
	if err != nil {
		return nil, err
	}
	return &ServerChain{c}, nil
}

// Client makes the chain of a client's list of filters. The error names a filter that cannot run. Calls must fail
// then.
func (t *Table) Client(list []listener.HTTPFilter) (*ClientChain, error) {
	c, err := build(t, list, "client", func(f httpfilter.Filter) maker[httpfilter.ClientInterceptor] { return f.Client })
	if err != nil {
		return nil, err
	}
	return &ClientChain{c}, nil
}

// build makes a chain without overrides. It leaves out skipped filters and ends at the
// terminal filter. A disabled filter has no interceptor.
func build[I any](t *Table, list []listener.HTTPFilter, side string, half func(httpfilter.Filter) maker[I]) (chain[I], error) {
	var links []link[I]
	for _, l := range list {
		if l.Skipped != "" {
			continue
		}
		f, known := t.filters[l.Message]
		if f.HTTPFilter != nil && f.Terminal {
			break
		}
		if !known || half(f) == nil {
			return chain[I]{}, fmt.Errorf("filterchain: HTTP filter %s: %s cannot run on a %s",
				printable.Quote(l.Name, printable.Short), printable.Text(l.Message, printable.Short), side)
		}
		links = append(links, link[I]{name: l.Name, filter: f.HTTPFilter, config: l.Config, make: half(f)})
		if l.Disabled { // only an override can enable it
			continue
		}
		if err := links[len(links)-1].prepare(nil); err != nil {
			return chain[I]{}, err
		}
	}
	return newChain(links), nil
}
