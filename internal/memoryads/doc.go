// Package memoryads is a control plane in memory: it speaks both variants of the
// xDS transport protocol over the framework's transport interfaces, without a
// network and without goroutines of its own, so that it works within
// testing/synctest.
//
// A [Network] is a transport that reaches [Server] values by their URI. A server
// answers as the specification says, at once, on the goroutine of the client that
// sends or of the test that changes what it holds. When everything is quiet (as
// after synctest.Wait), all that it has to say has been said.
//
// # Temperaments
//
// [Server.Imitate] has a server answer as istiod, go-control-plane's caches or diderot do,
// where they depart from the specification or it leaves a choice.
//
// # Faults
//
// On command it refuses streams, cuts them, stops reading, holds responses back,
// fails a method, or stays silent.
//
// # Its client is checked
//
// Whatever a client does that the protocol forbids is kept, and told by
// [Server.Violations]: a node that is missing in a stream's first request or
// stands in a later one, a nonce that was not sent on the stream, an accidental
// wildcard, a version that is not the last accepted one, and more. At rest,
// [Server.Unanswered] are the responses that were neither ACKed nor NACKed. A request
// answers a response or changes subscriptions, never both; a name is asked for again only
// while it is unanswered; the same content is rejected a bounded number of times. A client
// that causes a storm is not answered any more.
package memoryads
