// Package publish puts resources into a store, from which clients and servers read them.
//
//	m := source.NewMemory()
//	store := publish.NewChecked(m, types)
//	revision, err := cluster.Put(ctx, store, &clusterv3.Cluster{Name: "checkout", …})
//
// The package of each resource type has these functions. [Put], [Delete] and [AddTo] are the same for any
// type.
//
// A checked store decodes every resource with the decoder of its type before it commits anything. A
// resource that clients would reject never leaves the author, who gets a [*Rejected] with every
// violation: path, value and rule.
//
// A [Tx] changes several resources together. Its conditions make the commit fail with [ErrConflict]
// if somebody else was faster:
//
//	tx := new(publish.Tx).If(key, revision)
//	cluster.AddTo(tx, c)
//	endpoint.AddTo(tx, e)
//	_, err := store.Commit(ctx, tx)
package publish
