// Package wire is what generated decoders of the kind `wire` call: it reads the
// encoding of protobuf in place.
//
// # Views
//
// For every message of which something is read, a decoder has a view: a struct of
// what is read and nothing else, with a method that fills it from a [Reader], and
// with getters that are called as those of the message are. What reads messages
// therefore reads views, and both decoders of a type are one piece of code over
// two ways to read bytes.
//
// # What is shared
//
// Strings and bytes of a view are parts of the encoded resource, which an update
// keeps as long as it lives. Nobody may change these bytes.
//
// # What is accepted
//
// All that [proto.Unmarshal] accepts, with the same result: the last scalar wins,
// occurrences of a message merge, the last member of a oneof wins, repeated
// scalars may be packed or not, a field of another wire type is an unknown one.
// What is not read is skipped as bytes: a message in it may be malformed, and a
// string may be no UTF-8. [Check] looks at every byte.
//
// # What is used again
//
// Lists of views are made in an [Arena], which a [Pool] keeps for the next resource of
// the type. Only generated code sees such views; hooks are given copies, or parts of
// views that are not used again.
//
// Nothing but a Pool is safe for concurrent use, and nothing is kept after a call.
package wire
