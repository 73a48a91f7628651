// Package ads is one ADS stream, as a state machine without I/O.
//
// A [Machine] uses the state-of-the-world or the incremental (delta) variant of the xDS transport
// protocol, or detects which of them the server supports. Its methods report events to it, with the
// time. [Machine.Ready] returns their effects: actions for its owner. The owner opens streams, sends
// requests and reads responses. The machine decides when to send a request, and its content.
//
// # State
//
// The machine owns the names that are subscribed to per type, and the last accepted version per
// type or, in the delta protocol, per resource. Both outlive streams. It also owns the nonces, the
// backoff between streams, and the pace of requests.
//
// # Pace
//
// A state-of-the-world request lists every name of its type. One request per new subscription would
// make the bytes on the wire grow with the square of the number of names. Therefore the machine has
// at most one request in flight. It then pauses in proportion to the names in that request, unless
// as many new names are waiting. A burst of subscriptions becomes a handful of requests. A steady
// stream of subscriptions costs bytes in proportion to the names.
//
// # Rules
//
// xDS protocol: only the first request of a stream has the node. A response is accepted or rejected
// as a whole, and the version changes only when it is accepted. A name that is dropped and wanted
// again needs two requests, because a server resends a resource only after it has seen a request
// without it. A list without names never opens a type on a stream unless the wildcard is meant.
// gRFC A57: the end of a stream after a response is not an error, and resets the backoff.
//
// A request either answers a response or changes subscriptions. Some servers ignore a whole request
// because of its error or its old nonce, and lose a change in it. In the state-of-the-world
// variant, every request lists all names; an answer lists those of the request before it. In the
// delta variant, changes carry no nonce, and the first request of a type on a stream has the
// versions of the held resources.
//
// # Repetitions
//
// The machine requests an unanswered name again ([Repeat]), at once and then with back-off
// ([Config.Repeat]). If a server resends rejected content at once, the machine delays the next NACK
// by a growing pause ([Config.Rejected]).
package ads
