// Package client is the xDS client. It is the only package that combines the state machines of the
// framework, and it drives them.
//
// # A client
//
// [New] returns a [Client] for a bootstrap configuration (gRFC A27, gRFC A47) and a frozen set of
// resource types. Programs use it through the generated functions of a type's package:
//
//	for ev := range cluster.Watch(ctx, c, "xdstp://east.example/envoy.config.cluster.v3.Cluster/checkout") {
//
// # One loop
//
// The event loop owns the authorities and the streams' machines. It runs on one goroutine at a time,
// which ends when there are no events: an idle client has the reader of its stream only. All other
// goroutines send it events. The program sends subscriptions. The reading goroutine of a stream
// sends responses, which it has already decoded, validated and compared. Only a reader waits for
// the loop, and the loop waits for nothing: it does not send, call a watcher, or take a lock that
// is held during either.
//
// # Watchers
//
// Each subscription has a mailbox for the newest state. Callbacks run on a few worker goroutines. A
// watcher that blocks delays only its own mailbox, as long as at most 10,000 block.
// Beyond that, the client logs a warning, and other watchers wait until one returns.
//
// The client reads the next response of a stream when the watchers that the last response concerned
// are done, or when their budget is over ([WithWatcherBudget]). A watcher is done when it returns,
// or when an iteration asks for the next event. A subscription by SubscribeAsync is done when it
// calls done.
//
// A panic in a watcher's callback ends the program, as a panic in any goroutine does. The client
// does not recover it: the watcher would miss a state without knowing, and its locks would stay
// locked. The stack in the program's output names the watcher's method. Panics of decoders and
// hooks are recovered: they reject the resource.
//
// # Protocols and servers
//
// The client uses the state-of-the-world or the incremental variant of the protocol. The server's
// entry selects it, or [Options.Delta]. An authority uses the first of its servers that is reachable
// (gRFC A71). When a better server is back, the stream and the connection to a worse one close at
// once, unless something else needs them.
//
// The client reports an outage of a server once: to watchers, and in the log when it begins and
// when it is over ([Options.Logger]). [Client.Snapshot] has its newest error.
//
// # Connections
//
// A [Pool] owns the connections to control planes. It has one for each distinct server entry, even
// if several authorities name the entry. A Client is one scope: one cache and one stream per
// server. Clients that are given the same pool share its connections, but fall back independently.
//
// # Load
//
// [Client.LoadStore] returns the store in which a program counts the load that it puts on clusters.
// The client reports the load to that server on a separate stream (LRS) of the same connection. It
// never reports to servers that are not in the bootstrap (gRFC A47).
//
// # Lifetime
//
// Close ends all streams and goroutines of the client. Only goroutines inside a watcher's code may
// outlive it.
package client
