package router

import (
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// Config is the configuration of the filter. gRPC uses none of its fields.
type Config struct{}

// Filter returns the router filter.
func Filter() *resource.HTTPFilter {
	return &resource.HTTPFilter{
		Config:   "envoy.extensions.filters.http.router.v3.Router",
		Sides:    resource.ClientSide | resource.ServerSide,
		Terminal: true,
		Parse: func(_ *resource.DecodeContext, c resource.TypedConfig) (any, error) {
			_, err := c.Encoded((*routerv3.Router)(nil)) // gRPC uses none of its fields
			return Config{}, err
		},
	}
}
