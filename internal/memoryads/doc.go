// Package memoryads is a control plane in memory. It speaks both variants of the xDS transport
// protocol over the framework's transport interfaces. It has no network and no goroutines of its
// own, so it works in a bubble of testing/synctest.
//
// A [Network] is a transport that reaches [Server] values by their URI. A server answers
// as the specification requires. It answers at once, on the goroutine of the client that
// sends or of the test that changes resources. When all goroutines are idle (as after
// synctest.Wait), the server has sent all its responses.
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
// # Clients of other servers
//
// A [Checker] applies the same checks to the clients of another server, by its messages alone.
//
// # Its client is checked
//
// [Server.Violations] returns the protocol violations of clients. Examples are a node that is
// missing in a stream's first request or present in a later one, and a nonce that was not sent on
// the stream. Others are an accidental wildcard, and a version that is not the last accepted one.
// When idle, [Server.Unanswered] returns the responses that were neither ACKed nor NACKed.
//
// A request answers a response or changes subscriptions, never both. A name may be
// requested again only while it is unanswered. The same content may be rejected only a
// bounded number of times. The server stops answering a client that causes a storm.
package memoryads
