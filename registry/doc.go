// Package registry collects the resource types of a program and the extensions that resources may
// contain. Extensions are HTTP filters, LB policies, cluster specifier plugins, kinds of metadata
// and certificate providers.
//
//	reg := registry.New()
//	standard.Register(reg)
//	ratelimit.Register(reg)
//	types, err := reg.Freeze()
//
// A program registers its own extensions in the same way as the built-in ones:
//
//	reg.Extend(&resource.HTTPFilter{
//		Config: "acme.filters.http.tag.v1.Tag",
//		Sides:  resource.ClientSide,
//		Parse:  parseTag, // func(*resource.DecodeContext, resource.TypedConfig) (any, error)
//	})
//
// Registration is always explicit. There is no init function and no global registry, so two clients
// of one program may know different types. [Registry.Freeze] reports all registration errors at
// once.
package registry
