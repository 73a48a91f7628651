// Package registry collects the resource types of a program.
//
//	reg := registry.New()
//	standard.Register(reg)
//	ratelimit.Register(reg)
//	types, err := reg.Freeze()
//
// Nothing registers itself: there is no init function and no global registry, so
// that two clients of one program may know different types. What is wrong with a
// registration is kept and reported by [Registry.Freeze], all of it at once.
package registry
