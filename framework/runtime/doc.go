// Package runtime has the functions that generated code calls, together with the packages below it.
// Programs do not need it, and the compatibility promise does not cover it: generated code names
// the contract that it was generated for.
//
// A [Shard] is the cache of a generated package. It stores the updates of one type and one
// authority. It has one writer, the client's event loop, and any number of readers. Reading takes
// no lock and allocates nothing: the updates are in a hash table whose slots are atomic pointers,
// and a growing table is replaced as a whole.
//
// An index finds the updates that refer to a resource. It is built at the first query and kept up
// to date from then on, so programs without such queries do not pay for it.
package runtime
