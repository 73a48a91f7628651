package httpxds

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/plugins/standard"
)

// Register registers all that HTTP clients and servers need: the standard resource types, and the built-in certificate
// providers. An Env that gRPC channels and servers use too has the types and extensions of grpcxds.Register instead, which
// include these.
func Register(r resource.Registrar) {
	standard.Register(r)
	r.Fill(certprovider.FileWatcher())
}
