package relay

import (
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/runtime"
)

// AllowUnknown registers types by the full names of their messages, such as "acme.v1.Policy". Resources of
// these types are relayed without decoding: nothing validates them.
//
//	xdsforge.WithTypes(standard.Register, relay.AllowUnknown("acme.v1.Policy"))
//
// In the state-of-the-world variant, the upstream server must send such resources in the wrapper
// envoy.service.discovery.v3.Resource, because the relay does not know where their names are.
func AllowUnknown(messages ...string) func(resource.Registrar) {
	return func(r resource.Registrar) {
		for _, name := range messages {
			r.Register(opaque(name))
		}
	}
}

// An opaqueUpdate is a resource of a type that nobody decodes.
type opaqueUpdate struct{ resource.Meta }

// opaque returns a type whose resources are not decoded.
func opaque(message string) resource.Type {
	d := &resource.Descriptor{
		Name: message, Wildcard: true, Globs: true,
		Decode: func(dc *resource.DecodeContext, body []byte) (resource.Update, error) {
			return &opaqueUpdate{dc.Meta(body)}, nil
		},
		NewShard: func() resource.Shard { return runtime.NewShard[*opaqueUpdate]() },
	}
	return d.Handle()
}
