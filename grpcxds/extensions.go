package grpcxds

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/fault"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/rbac"
	"github.com/xdsforge/xdsforge/grpcxds/internal/filterchain"
	"github.com/xdsforge/xdsforge/grpcxds/internal/security"
	"github.com/xdsforge/xdsforge/internal/extensions/router"
	"github.com/xdsforge/xdsforge/plugins/standard"
	"github.com/xdsforge/xdsforge/registry"
)

// builtin are the HTTP filters that run without a user's doing.
func builtin() []httpfilter.Filter {
	return []httpfilter.Filter{{HTTPFilter: router.Filter()}, rbac.Filter(), fault.Filter()}
}

// extend makes the extensions known: their running halves to the pool, and what reads
// their configurations to the set of types, which may have it already.
func (p *Pool) extend() (err error) {
	own := slices.DeleteFunc(builtin(), p.replaces)
	watcher := certprovider.FileWatcher()
	if p.chains, err = filterchain.New(slices.Concat(own, p.filters)); err != nil {
		return err
	}
	if p.providers, err = security.NewProviders(p.config, append([]certprovider.Plugin{watcher}, p.plugins...)); err != nil {
		return err
	}
	if p.types == nil {
		reg := registry.New()
		standard.Register(runnable{reg})
		for _, f := range own {
			reg.Extend(f.HTTPFilter)
		}
		reg.Extend(watcher.CertificateProvider)
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
func (p *Pool) replaces(built httpfilter.Filter) bool {
	return slices.ContainsFunc(p.filters, func(f httpfilter.Filter) bool {
		return f.HTTPFilter != nil && f.Config == built.Config
	})
}

// A runnable registrar leaves out what must have a running half, which comes with that: a
// filter that can only be read would be accepted, and then not be there (gRFC A39).
type runnable struct{ resource.Registrar }

// Extend implements [resource.Registrar].
func (r runnable) Extend(e resource.Extension) {
	switch e.(type) {
	case *resource.HTTPFilter, *resource.CertificateProvider:
	default:
		r.Registrar.Extend(e)
	}
}

// Fill implements [resource.Registrar].
func (r runnable) Fill(e resource.Extension) { r.Extend(e) }
