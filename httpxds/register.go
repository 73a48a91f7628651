package httpxds

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/httpxds/internal/builtin"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/lbendpoint"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// Register registers all that HTTP clients and servers need: the standard resource types, the endpoints of list
// collections, separate configurations of HTTP filters, and the built-in HTTP filters and certificate providers. A program's own
// filters are registered beside them:
//
//	xdsforge.WithTypes(httpxds.Register, func(r xdsforge.Registrar) { r.Extend(&httpfilter.Filter{…}) })
//
// An Env that gRPC channels and servers use too has the types and extensions of grpcxds.Register. HTTP clients and servers
// work with those alone, because they add their built-in filters.
func Register(r resource.Registrar) {
	standard.Register(r)
	lbendpoint.Register(r)
	extension.Register(r)
	for _, f := range builtin.Filters() {
		r.Fill(&f)
	}
	r.Fill(certprovider.FileWatcher())
}
