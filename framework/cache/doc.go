// Package cache is what the typed shards of resource types are made of.
//
// A [Shard] keeps the updates of one type and one authority. It has one writer,
// the client's event loop, and any number of readers. Reading takes no lock and
// allocates nothing: the updates stand in a hash table whose slots are atomic
// pointers, and a table that grows is replaced as a whole.
//
// Who refers to what is indexed from the updates' refs. The index is built when
// it is first asked for and kept up to date from then on, so that programs that
// never ask do not pay for it.
package cache
