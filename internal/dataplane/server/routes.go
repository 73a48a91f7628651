package server

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/internal/dataplane/filters"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// Routes are the routes of one filter chain, at one moment.
type Routes struct {
	// FilterChain is the filter chain. Its connection manager is set.
	FilterChain *listener.FilterChain
	// Filters are the HTTP filters of the filter chain. The configurations of all of them are set (A104).
	Filters []listener.HTTPFilter
	// Update is the RouteConfiguration. It is nil if Err is set.
	Update *route.Update
	// Err is the reason why there is no RouteConfiguration, or why an HTTP filter has no configuration.
	Err error
}

// A table has the routing of each filter chain, at one moment.
type table[R Routing] map[*listener.FilterChain]R

// release releases all routings.
func (t table[R]) release() {
	for _, r := range t {
		r.Release()
	}
}

// compile finds the routes of a Listener in a snapshot and compiles them. It also returns the reasons why calls fail.
func (p *Port[R]) compile(s *tree.Snapshot, u *listener.Update) (table[R], []string) {
	var list []Routes
	for c := range chains(u) {
		one := Routes{FilterChain: c}
		one.Update, one.Err = find(p.config.Client, s, c.Manager())
		if one.Err == nil {
			one.Filters, one.Err = p.filters(s, c.Manager())
		}
		if one.Err != nil {
			one.Update = nil
		}
		list = append(list, one)
	}
	problems := new(Problems)
	out := make(table[R], len(list))
	for i, r := range p.backend.Compile(list, problems) {
		out[list[i].FilterChain] = r
	}
	return out, problems.Texts()
}

// chains yields the filter chains with a connection manager.
func chains(u *listener.Update) func(func(*listener.FilterChain) bool) {
	return func(yield func(*listener.FilterChain) bool) {
		for i := range u.FilterChains {
			if c := &u.FilterChains[i]; c.Manager() != nil && !yield(c) {
				return
			}
		}
		if u.DefaultFilterChain != nil && u.DefaultFilterChain.Manager() != nil {
			yield(u.DefaultFilterChain)
		}
	}
}

// find returns the RouteConfiguration of a filter chain, or the reason why there is none.
func find(c resource.Client, s *tree.Snapshot, m *listener.Manager) (*route.Update, error) {
	switch r := m.Routes.(type) {
	case listener.Inline:
		if u, ok := r.Config.(*route.Update); ok {
			return u, nil
		}
	case listener.RDS:
		ref, err := route.Type().Ref(c, r.Name)
		if err != nil {
			return nil, err
		}
		return tree.Get[*route.Update](s, ref)
	}
	return nil, fmt.Errorf("a filter chain's routes are a %T; there must be a RouteConfiguration", m.Routes)
}

// filters returns the HTTP filters of a filter chain with the configurations that are separate resources, or the reason why
// one of them is not there (A104).
func (p *Port[R]) filters(s *tree.Snapshot, m *listener.Manager) ([]listener.HTTPFilter, error) {
	return filters.Discover(m.Filters, resource.ServerSide, func(name string) (*extension.Update, error) {
		ref, err := extension.Type().Ref(p.config.Client, name)
		if err != nil {
			return nil, err
		}
		return tree.Get[*extension.Update](s, ref)
	})
}

// Problems collects the reasons why calls fail, for a warning.
type Problems struct{ texts []string }

// Add records a problem. Only the problems that a warning lists keep their text, because each of many routes may have
// one.
func (p *Problems) Add(format string, args ...any) {
	text := ""
	if len(p.texts) < maxProblems {
		text = printable.Text(fmt.Sprintf(format, args...), printable.Quoted)
	}
	p.texts = append(p.texts, text)
}

// Texts returns the problems. Those that a warning does not list are empty.
func (p *Problems) Texts() []string { return p.texts }

// Judge records each route of the list that a server does not serve (A36). The rule says which actions it serves.
func (p *Problems) Judge(list []Routes, served func(*route.Route) bool, rule string) {
	judged := make(map[*route.Update]bool)
	for _, r := range list {
		if r.Err == nil && !judged[r.Update] {
			judged[r.Update] = true
			p.judge(r.Update, served, rule)
		}
	}
}

func (p *Problems) judge(u *route.Update, served func(*route.Route) bool, rule string) {
	for i := range u.VirtualHosts {
		h := &u.VirtualHosts[i]
		for j := range h.Routes {
			if t := &h.Routes[j]; t.Ignored == "" && !served(t) {
				p.Add("RouteConfiguration %s: the action of route %d %s of virtual host %s is not %s",
					label(u.Name().String()), j, label(t.Name), label(h.Name), rule)
			}
		}
	}
}

// label quotes a name for an error or a log. It clips long names, because each of many routes may have an error.
func label(name string) string { return printable.Quote(name, printable.Short) }
