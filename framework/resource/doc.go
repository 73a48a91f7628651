// Package resource is the contract between the framework and resource types. Generated code imports
// this package and the packages below it (xdstp, bootstrap, cache). It never imports the client.
//
// # Types
//
// Each generated package defines a handle, a [TypeOf], from a [Spec]. The Spec has the name of the
// protobuf message and a function that reads the resource's name from its bytes. It also has a
// decoder that returns an [Update], and the shard that stores updates. [Raw] returns a Spec for
// whole messages. A [Registrar] collects types. A [Set] is the frozen result that a client is
// created with.
//
// # Updates
//
// An [Update] is one decoded, validated resource. Updates are immutable and safe to share. A
// generated Update is a plain struct with the fields that consumers need. [Meta] carries the
// properties that all updates share.
//
// # Watching
//
// The methods of a handle take a [Client]. The generated functions Watch, Subscribe, Get and Lookup
// call them. An [Event] of a watch follows gRFC A88. It has either a usable resource, perhaps with
// an ambient error that leaves it valid, or the reason why there is none. [Find] returns a handle
// for code that knows a type only by its name.
//
// # Validation
//
// A decoder collects every [Violation] of a resource, each with its path and value, and reports
// them together. A resource with a violation is rejected as a whole. The other resources of the
// same response are not (gRFC A46).
//
// # Errors
//
// Every error that a watcher sees is an [*Error] with one of the kinds ErrNotFound, ErrRemoved,
// ErrTimeout, ErrInvalid, ErrTransport. Misuse of the API fails immediately with ErrClosed,
// ErrUnknownType or the reason why a name is malformed. Use errors.Is to distinguish them.
package resource
