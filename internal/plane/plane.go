// Package plane has the state that the gRPC channels, gRPC servers, HTTP clients and HTTP servers of an Env share, in
// addition to its xDS clients: certificate providers and circuit breakers.
package plane

import (
	"fmt"
	"io"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/grpcxds/certprovider"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/security"
	"github.com/xdsforge/xdsforge/internal/environment"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
	"github.com/xdsforge/xdsforge/plugins/listener"
	"github.com/xdsforge/xdsforge/plugins/route"
)

// A Plane is the shared state of an Env. It is closed with the Env.
type Plane struct {
	// Providers run the certificate providers of the Env's extensions.
	Providers *security.Providers
	// Breakers count the requests of clusters in flight (gRFC A32).
	Breakers breaker.Set
}

type key struct{}

// Of returns the state of an Env. The caller has a reference to the Env. An error names the resource type that the Env lacks.
func Of(e *environment.Env) (*Plane, error) {
	for _, t := range []resource.Type{listener.Type(), route.Type(), cluster.Type(), endpoint.Type()} {
		if e.Types().Index(resource.Describe(t)) < 0 {
			return nil, fmt.Errorf("the Env has no resource type %s; make it with xdsforge.WithTypes(grpcxds.Register) or xdsforge.WithTypes(httpxds.Register)", t.Name())
		}
	}
	p, err := e.Attach(key{}, func() (io.Closer, error) { return newPlane(e) })
	if err != nil {
		return nil, err
	}
	return p.(*Plane), nil
}

// newPlane takes the certificate provider plugins that run from the extensions of the Env.
func newPlane(e *environment.Env) (*Plane, error) {
	var plugins []security.Plugin
	for x := range e.Types().Extensions() {
		switch x := x.(type) {
		case *certprovider.Plugin:
			plugins = append(plugins, security.Plugin(*x))
		case certprovider.Plugin:
			plugins = append(plugins, security.Plugin(x))
		}
	}
	providers, err := security.NewProviders(e.Config(), plugins)
	if err != nil {
		return nil, err
	}
	return &Plane{Providers: providers}, nil
}

// Close ends the certificate providers.
func (p *Plane) Close() error {
	p.Providers.Close()
	return nil
}
