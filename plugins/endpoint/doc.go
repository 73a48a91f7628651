// Package endpoint is the resource type envoy.config.endpoint.v3.ClusterLoadAssignment
// (EDS). It lists the endpoints of one cluster.
//
// The rules of gRFC A27 are checked. Every locality with weight has an id. No two
// localities have the same id and priority. Priorities have no gaps. No address occurs
// twice. The weights of a priority do not exceed a uint32. The weights of a locality's
// endpoints do not exceed one either, and none of them is zero (Envoy's API). A locality
// without weight gets no traffic. It is left out, and nothing in it is checked.
//
// An endpoint can have several addresses (A61), a hash key for its place in a ring (A76), a
// hostname (A81), and metadata that names a proxy (A86).
//
// Profile [resource.Envoy] checks the message's own rules. Of the rules above it checks
// only the sums of weights. Localities need neither id nor weight, and all of them are
// kept.
//
// Addresses are strings in the form that net.Dial takes. They are not netip.Addr values
// because existing clients accept host names too.
//
// The page docs/types/endpoint.md lists the fields with their sources and defaults, and the rules.
package endpoint

//go:generate go tool xdsgen resource.yaml
