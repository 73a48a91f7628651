// Package wire has the functions that generated decoders of the kind `wire` call. It reads the
// encoding of protobuf in place.
//
// # Views
//
// A decoder has a view for every message that it reads. A view is a struct with only the fields
// that are read. One method fills it from a [Reader]. Its getters have the signatures of the
// message's getters. Code that reads messages therefore reads views, too, and both decoders of a
// type share their code.
//
// # Shared memory
//
// Strings and bytes of a view are parts of the encoded resource, which an update keeps as long as
// it lives. Nobody may change these bytes.
//
// # Accepted encodings
//
// Readers accept every encoding that [proto.Unmarshal] accepts, with the same result. The last
// scalar wins, occurrences of a message merge, and the last member of a oneof wins. Repeated
// scalars may be packed or not. A field of another wire type counts as unknown. Fields that are not
// read are skipped as bytes: a message in them may be malformed, and a string need not be UTF-8.
// [Check] validates every byte.
//
// # Reused memory
//
// Lists of views are allocated in an [Arena], which a [Pool] keeps for the next resource of the
// type. Only generated code sees such views. Hooks receive copies, or parts of views that are not
// reused.
//
// Only a Pool is safe for concurrent use. No function keeps its arguments after a call.
package wire
