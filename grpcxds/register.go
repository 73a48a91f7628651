package grpcxds

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/composite"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/extauthz"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/extproc"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/fault"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/gcpauthn"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/rbac"
	"github.com/xdsforge/xdsforge/grpcxds/httpfilter/statefulsession"
	"github.com/xdsforge/xdsforge/internal/extensions/router"
	"github.com/xdsforge/xdsforge/plugins/extension"
	"github.com/xdsforge/xdsforge/plugins/lbendpoint"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// Register registers all that channels and servers need: the standard resource types, the endpoints of list collections
// (A95), separate configurations of HTTP filters (A104), and the built-in HTTP filters and certificate providers that can run.
// A default Env has exactly these. Other Envs register them with xdsforge.WithTypes, together with a program's own extensions:
//
//	xdsforge.WithTypes(grpcxds.Register, func(r xdsforge.Registrar) {
//		r.Extend(&httpfilter.Filter{…})       // an HTTP filter
//		r.Extend(&certprovider.Plugin{…})     // a certificate provider
//		r.Extend(&resource.LBPolicy{…})       // an LB policy of grpc-go's balancer.Register
//	})
//
// An extension for the same configuration as a built-in one replaces it.
func Register(r resource.Registrar) {
	standard.Register(r)
	lbendpoint.Register(r)
	extension.Register(r)
	r.Fill(&httpfilter.Filter{HTTPFilter: router.Filter()})
	r.Fill(rbac.Filter())
	r.Fill(fault.Filter())
	r.Fill(gcpauthn.Filter(nil))
	r.Fill(statefulsession.Filter())
	r.Fill(extauthz.Filter())
	r.Fill(extproc.Filter())
	r.Fill(composite.Filter())
	r.Fill(certprovider.FileWatcher())
}
