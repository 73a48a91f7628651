// Package filterchain makes the HTTP filters of a configuration into what calls go through
// (gRFC A39).
//
// A [Table] knows the filters. Of a list of filters it makes a chain, and
// [ServerChain.Override] and [ClientChain.Override] make another one for a virtual host, of
// that one for a route, and of that for a weighted cluster; where nothing is overridden, it
// is the same. All of that happens when a configuration comes. A call goes through the
// chain of its route, also where the route has no usable action: then it fails, after the
// filters had their say (gRFC A36).
package filterchain
