// Package source is the boundary between the framework and a place that has resources: files, the
// values of a program, a store, or another control plane.
//
// A [Source] has the resources of one or more authorities. A reader opens a [Session], tells it the
// names that it needs, and receives each [Change] in a [Sink].
//
// [Memory] is a Source that programs fill themselves. It commits transactions atomically:
//
//	m := source.NewMemory()
//	tx := new(source.Tx).Put(source.Resource{Key: source.Key{Type: typeURL, Name: "checkout"}, Body: body})
//	revision, err := m.Commit(ctx, tx)
//
// Package sourced gives the Sources to clients as servers of their bootstrap.
//
// # The order of calls
//
// A session starts without knowledge. For each [Interest] that [Session.Want] adds, the session
// reports every resource that exists, and then the interest in [Change.Complete]. A name that is
// complete and has no resource does not exist. Until then, the reader knows nothing about it and
// does not answer for it. After that, each Change has what is different since the last one.
//
// A Change is indivisible: readers apply all of it, or nothing. Changes of a session arrive in the
// order of their revisions. A session may combine several commits in one Change if its reader is
// slow, so that the work of a session is bounded by the number of wanted resources.
//
// # Source down
//
// A Source that cannot reach its resources reports [Down] with the reason. It never reports that
// resources do not exist because of that.
package source
