// Package runtime is what generated code calls, with the packages below it. Programs do not
// need it, and the compatibility promise does not cover it: generated code names the contract
// that it was generated for.
//
// A [Shard] is the cache of a generated package. It keeps the updates of one type and one authority. It has one writer,
// the client's event loop, and any number of readers. Reading takes no lock and
// allocates nothing: the updates stand in a hash table whose slots are atomic
// pointers, and a table that grows is replaced as a whole.
//
// Who refers to what is indexed from the updates' refs. The index is built when
// it is first asked for and kept up to date from then on, so that programs that
// never ask do not pay for it.
package runtime
