package grpcxds

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/rbac"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/grpcxds/internal/security"
	"github.com/xdsforge/xdsforge/plugins/httpfilter/router"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// builtin are the HTTP filters that run without a user's doing.
func builtin() []httpfilter.Filter {
	return []httpfilter.Filter{{HTTPFilter: router.Filter()}, rbac.Filter()}
}

// extend makes the extensions known: their running halves to the pool, and what reads
// their configurations to the set of types, which may have it already.
func (p *Pool) extend() (err error) {
	filters := p.filters
	for _, f := range builtin() {
		if !p.replaces(f.HTTPFilter) {
			filters = append(filters, f)
		}
	}
	if p.chains, err = filterchain.New(filters); err != nil {
		return err
	}
	p.providers, err = security.NewProviders(p.config, append([]certprovider.Plugin{certprovider.FileWatcher()}, p.plugins...))
	if err != nil {
		return err
	}
	if p.types == nil {
		reg := registry.New()
		standard.Register(replacer{reg, p})
		if p.types, err = reg.Freeze(); err != nil {
			return err
		}
	}
	p.types, err = p.types.Extend(p.types.Profile(), p.unread()...)
	return err
}

// unread are what reads the configurations of the user's extensions, and is not in the set.
func (p *Pool) unread() []resource.Extension {
	var out []resource.Extension
	for _, f := range p.filters {
		if known, ok := p.types.HTTPFilter(f.Config); !ok || known != f.HTTPFilter {
			out = append(out, f.HTTPFilter)
		}
	}
	for _, c := range p.plugins {
		if known, ok := p.types.CertificateProvider(c.Plugin); !ok || known != c.CertificateProvider {
			out = append(out, c.CertificateProvider)
		}
	}
	return out
}

// replaces reports whether the user has another filter in the place of a built-in one.
func (p *Pool) replaces(built *resource.HTTPFilter) bool {
	return slices.ContainsFunc(p.filters, func(f httpfilter.Filter) bool {
		return f.HTTPFilter != nil && f.Config == built.Config
	})
}

// A replacer leaves out the built-in filters that a pool has others for.
type replacer struct {
	resource.Registrar
	pool *Pool
}

// Extend implements [resource.Registrar].
func (r replacer) Extend(e resource.Extension) {
	if f, ok := e.(*resource.HTTPFilter); !ok || !r.pool.replaces(f) {
		r.Registrar.Extend(e)
	}
}
