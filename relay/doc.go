// Package relay serves the resources of one client to many others. The relay subscribes upstream to each
// resource once, decodes and validates it once, and shares its encoded bytes between all downstream
// clients.
//
//	c, err := xdsforge.New(xdsforge.WithBootstrap(upstream), xdsforge.WithTypeSet(types))
//	r, err := relay.New(c)
//	s, err := serve.New(types, map[string]source.Source{"": r})
//
// # Subscriptions
//
// The upstream subscriptions are the union of the downstream ones: names, wildcards, globs and list
// collections of xRFC TP1. A subscription that nobody needs any longer stays for a minute
// ([WithLinger]), so that clients that restart do not cause traffic upstream.
//
// The relay identifies a resource by its type and name only. Upstream sees one client: the node of the
// relay. A control plane that sends different resources of one name to different nodes needs a relay
// for each kind of node.
//
// # Failures
//
// While no upstream server is reachable, the relay serves the resources that it has, and its state is
// [source.Stale]. For a name that it does not have, clients get the error of xRFC TP3. They do not
// get the information that the resource does not exist.
//
// If the relay rejects an upstream version, upstream gets a NACK, and clients keep the previous version.
// A resource that upstream removes or denies is removed or denied downstream. Each downstream client
// decides on its own whether it uses the resource further (gRFC A88).
//
// # Load reports
//
// [Relay.AddLoad] adds the load reports of downstream clients to those that the relay's client sends upstream.
//
// # Differences from a direct connection
//
// The order of additions and changes is that of upstream. A server of package serve lets removals wait until its clients
// have followed the change, so that a relay behind any control plane removes a cluster after the route has left it.
//
// Clients receive no aliases and no TTL of resources: the relay ends resources whose TTL expires. Resources of one
// upstream response may arrive in several responses.
package relay
