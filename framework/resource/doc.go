// Package resource is the contract between the framework and the resource
// types that plug into it. Generated code imports this package and the leaves
// it is built on (xdstp, bootstrap, cache); it never imports the client.
//
// # Types
//
// A [Descriptor] is what a plugin registers: the name of its protobuf message, how a
// resource's name is read from its bytes, how the bytes become an [Update], and
// what shard keeps the updates. A [Registrar] collects types, a [Set] is the
// frozen result that a client is created with.
//
// # Updates
//
// An [Update] is one decoded, validated resource. Updates are immutable and
// safe to share: whoever needs another one asks for the next. The generated
// Update of a package is a plain struct with the fields that consumers need;
// [Meta] carries what all of them share.
//
// # Watching
//
// [Client] is what a program watches resources through, and the generated
// Watch, Subscribe, Get and Lookup are typed views of it. What a watcher learns
// follows gRFC A88: a resource to use from now on, an error that says why there
// is none to use, or an ambient error beside a resource that stays valid.
//
// # Validation
//
// A decoder collects every [Violation] of a resource, each with its path and
// value, and reports them together. A resource with a violation is rejected as
// a whole; the other resources of the same response are not (gRFC A46).
//
// # Errors
//
// Every error that a watcher sees is an [*Error] with one of the kinds
// ErrNotFound, ErrRemoved, ErrTimeout, ErrInvalid, ErrTransport; misuse of the
// API answers at once with ErrClosed, ErrUnknownType or the reason why a name
// is not one. All of them are told apart by errors.Is.
package resource
