// Package ads is one ADS stream, as a state machine without I/O.
//
// A [Machine] speaks the state-of-the-world or the incremental (delta) variant of the
// xDS transport protocol, or finds out which of them the server has. It is told what happens, by [Event] values and the time at which
// they happened, and answers with what to do, as [Effect] values. Whoever drives
// it opens streams, sends requests and reads responses; the machine decides
// when, and what stands in them.
//
// # What it owns
//
// The names that are subscribed to per type, the last accepted version per type or, in
// the delta protocol, per resource (which outlive streams), the nonces, the backoff
// between streams, and the pace of requests.
//
// # Pace
//
// A state-of-the-world request carries every name of its type. Sent at each new
// subscription, the bytes on the wire grow with the square of their number. The
// machine keeps at most one request in flight to the network, and lets a pause
// follow that is in proportion to the names it carried, unless as many names
// again are waiting. A burst of subscriptions so becomes a handful of requests,
// and a steady stream of them costs bytes in proportion to the names.
//
// # Rules
//
// xDS protocol: the node stands in a stream's first request only; a response is
// accepted or rejected as a whole, the version moves only when it is accepted;
// a name that is dropped and wanted again goes out in two requests, since a server
// sends again only what it has seen dropped. A list without names never opens a type
// on a stream unless the wildcard is meant. gRFC A57: a stream that ends after a
// response is no error, and backoff starts over.
//
// A request either answers a response or changes subscriptions. Some servers ignore
// a whole request because of its error or its old nonce, and lose a change in it. In the
// state-of-the-world variant, every request lists all names; an answer lists those of the
// request before it. In the delta variant, changes carry no nonce, and the first request
// of a type on a stream says which versions are held.
//
// # Repetitions
//
// The machine asks again for a name that stays unanswered ([Overdue]), at once and then
// with back-off ([Config.Repeat]). If a server resends rejected content at once, the
// machine delays the next NACK by a growing pause ([Config.Rejected]).
package ads
