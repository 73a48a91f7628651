// Package resource is the contract between the framework and the resource
// types that plug into it. Generated code imports this package and the leaves
// it is built on (xdstp, bootstrap, cache); it never imports the client.
//
// # Types
//
// A generated package makes the handle of its type, a [TypeOf], of a [Spec]: the name of the
// protobuf message, how a resource's name is read from its bytes, how the bytes become an
// [Update], and which shard keeps the updates. [Raw] is a Spec for whole messages. A
// [Registrar] collects types, a [Set] is the frozen result that a client is created with.
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
// The methods of a handle take a [Client]; the generated functions Watch, Subscribe, Get and
// Lookup call them. An [Event] of a watch follows gRFC A88: it has a resource to use from now
// on, perhaps with an ambient error that leaves it valid, or the reason why there is none.
// [Find] returns a handle for code that knows a type only by its name.
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
