// Package registry collects the resource types of a program, and the extensions
// that resources of these types may carry: HTTP filters, LB policies, cluster
// specifier plugins, kinds of metadata and certificate providers.
//
//	reg := registry.New()
//	standard.Register(reg)
//	ratelimit.Register(reg)
//	types, err := reg.Freeze()
//
// An extension of a program's own is registered as the built-in ones are:
//
//	reg.Extend(&resource.HTTPFilter{
//		Config: "acme.filters.http.tag.v1.Tag",
//		Sides:  resource.ClientSide,
//		Parse:  parseTag, // func(*resource.DecodeContext, resource.TypedConfig) (any, error)
//	})
//
// Nothing registers itself: there is no init function and no global registry, so
// that two clients of one program may know different types. What is wrong with a
// registration is kept and reported by [Registry.Freeze], all of it at once.
package registry
