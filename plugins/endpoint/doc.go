// Package endpoint is the resource type
// envoy.config.endpoint.v3.ClusterLoadAssignment (EDS): where the traffic of one
// cluster can go.
//
// What gRFC A27 demands is checked: every locality that has weight has an id, no
// two have the same id and priority, priorities leave out no number, no address
// is there twice, and the weights of no priority exceed a uint32. The same holds
// for the endpoints of a locality, none of which has a weight of zero, by Envoy's
// API. A locality without weight gets no traffic; it is left out, and nothing in
// it is looked at.
//
// An endpoint may have several addresses (A61), a key that a ring places it by (A76),
// a hostname (A81), and metadata that names a proxy (A86).
//
// In [resource.Envoy] the message's own rules are checked, and nothing of that but the
// sums: localities need neither id nor weight, and are all kept.
//
// Addresses are strings that net.Dial takes, since clients in use accept any
// host there, not only IP addresses.
package endpoint

//go:generate go tool xdsgen resource.yaml
