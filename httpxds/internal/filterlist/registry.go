package filterlist

import (
	"errors"
	"fmt"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/httpxds/httpfilter"
)

// A Registry has the filters that run on one side. It is immutable.
type Registry struct {
	filters map[string]*httpfilter.Filter // keyed by the message of the configuration
	side    resource.Side
}

// NewRegistry creates a Registry. It returns an error if two filters read the same message, or if a filter lacks a half.
func NewRegistry(side resource.Side, list []httpfilter.Filter) (*Registry, error) {
	r := &Registry{filters: make(map[string]*httpfilter.Filter, len(list)), side: side}
	var errs []error
	for i := range list {
		f := &list[i]
		if f.HTTPFilter == nil {
			errs = append(errs, errors.New("Filter.HTTPFilter is nil; must be set, because it parses the configuration"))
			continue
		}
		if !f.Terminal && f.Sides&side != 0 && !r.runs(f) {
			errs = append(errs, fmt.Errorf("httpxds: Filter.%s of %s is nil; must be set if Sides includes %s", r.half(), f.Config, strings.Replace(r.half(), "New", "", 1)+"Side"))
		}
		if _, twice := r.filters[f.Config]; twice {
			errs = append(errs, fmt.Errorf("the HTTP filter %s is there twice", f.Config))
		}
		r.filters[f.Config] = f
	}
	return r, errors.Join(errs...)
}

// runs reports whether a filter has the half of the side.
func (r *Registry) runs(f *httpfilter.Filter) bool {
	if r.side == resource.ClientSide {
		return f.NewClient != nil
	}
	return f.NewServer != nil
}

// half returns the field of a filter that creates instances.
func (r *Registry) half() string {
	if r.side == resource.ClientSide {
		return "NewClient"
	}
	return "NewServer"
}

// Known returns the filter that runs with a configuration message, or nil.
func (r *Registry) Known(message string) *resource.HTTPFilter {
	f := r.filters[message]
	if f == nil || !f.Terminal && !r.runs(f) {
		return nil
	}
	return f.HTTPFilter
}

// Filter returns the filter of a configuration message, or nil. The filter may lack the half of the side.
func (r *Registry) Filter(message string) *httpfilter.Filter { return r.filters[message] }
