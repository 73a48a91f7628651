// Package client is the xDS client: it drives the state machines of the
// framework, and is the only package that puts them together.
//
// # A client
//
// [New] makes a [Client] of a bootstrap configuration (gRFC A27, gRFC A47) and a
// frozen set of resource types. Programs use it through the generated functions
// of a type's package:
//
//	for ev := range cluster.Watch(ctx, c, "xdstp://east.example/envoy.config.cluster.v3.Cluster/checkout") {
//
// # One loop
//
// One goroutine, the event loop, owns the authorities and the streams' machines.
// Everything else sends it events: subscriptions come from the program, responses
// from the reading goroutine of a stream, which has decoded, validated and
// compared them before. Nothing waits for the loop but a reader, and the loop
// waits for nothing: it neither sends, nor calls a watcher, nor takes a lock that
// is held during either.
//
// # Watchers
//
// Each subscription has a mailbox for the newest state. Callbacks run on a few
// worker goroutines; a watcher that blocks keeps its own mailbox waiting, and
// soon nothing else, as long as no more than [MaxBlockedWatchers] block. Beyond that, the
// client logs a warning, and other watchers wait until one returns. A stream is read again when the watchers that its last response
// concerned are done, or when their budget is over ([WithWatcherBudget]); a watcher
// is done when it returns, when an iteration asks for more, or, for a
// subscription by SubscribeAsync, when it calls done.
//
// A panic in a watcher's callback ends the program, as a panic in any goroutine does. The
// client does not recover it: the watcher would miss a state without knowing, and its
// locks would stay as they are. The stack in the program's output names the watcher's
// method. Panics of decoders and hooks are recovered: they reject the resource.
//
// # Protocols and servers
//
// A server is spoken to in the state-of-the-world or the incremental variant of the
// protocol; its entry decides, or [WithProtocol]. An authority uses the first of its
// servers that can be reached (gRFC A71). When a better server is back, the stream and the
// connection to a worse one close at once, unless something else needs them.
//
// An outage of a server is reported once: to watchers, and in the log when it begins and
// when it is over ([WithLogger]). [Client.Snapshot] has its newest error.
//
// # Connections
//
// A [Pool] owns the connections to control planes, one for each server entry
// that differs in anything that matters, however many authorities name it. A
// Client is one scope: one cache and one stream per server. Clients that are
// given the same pool share its connections, and fall back apart.
//
// # Load
//
// [Client.LoadStore] returns where a program counts the load that it puts on clusters. What
// is counted is reported to that server on a stream of its own (LRS), on the same
// connection; to servers that the bootstrap does not have, nothing is (gRFC A47).
//
// # Lifetime
//
// Close ends everything that New started. Only goroutines inside a watcher's own
// code may outlive it.
package client
