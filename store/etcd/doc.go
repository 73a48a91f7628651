// Package etcd keeps resources in etcd, for control planes of more than one machine. A [Store] commits
// transactions (publish.Store), and is a source of the resources (source.Source):
//
//	store, err := etcd.Open(etcd.Options{Endpoints: []string{"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"}})
//	checked := publish.NewChecked(store, types)
//	revision, err := publish.Put(ctx, checked, cluster.Type(), c)
//	server, err := serve.New(types, map[string]source.Source{"": store})
//
// All processes that serve the same store have the same versions of resources. A client that reconnects to
// another process therefore receives only the differences.
//
// # Keys
//
// A tenant is a set of resources with revisions of its own. Its keys are
//
//	/xds/TENANT/r/TYPE URL/NAME   a resource: an envoy.service.discovery.v3.Resource
//	/xds/TENANT/m/generation      JSON about the last commit; its revision is that of the tenant
//	/xds/TENANT/m/epoch           a random text that identifies the history
//	/xds/TENANT/m/batch           exists while a large transaction is being copied to its keys
//	/xds/TENANT/b/ID/NUMBER       the content of a large transaction
//
// Processes that only serve need the permission to read the range of "/xds/TENANT/". Publishers need to
// read and write it.
//
// # Transactions
//
// A commit is one transaction of etcd. It compares the revision of the generation key and changes it. After a
// try whose outcome is unknown, the store finds out whether the commit happened, and never applies it
// twice. A larger transaction is written to keys of its own first. One transaction of etcd makes it
// visible as a whole. The store then copies it to the keys of the resources. If the publisher stops
// before that is done, readers still see all of it, and the next publisher completes the copy.
//
// # Reading
//
// The first session makes the store follow the keys by one watch of one endpoint. Every 500 ms the store
// checks that it has seen the last commit, by a read that a majority of the nodes confirms. If the
// check fails, the store continues at the next endpoint without a gap. Resources that were not
// confirmed for 3 s are stale. Sessions keep them. If the check finds another history than before,
// such as that of a restored backup, the store reads all resources again.
//
// Without a majority of the nodes, a store that has just started reads the resources of any node, and
// reports them as stale.
//
// # etcd
//
// The minimum is etcd 3.6.2: earlier releases may lose events. Start it with
//
//	--max-txn-ops 1024 --max-request-bytes 16777216 --quota-backend-bytes 8589934592 --auto-compaction-retention 10m
//
// [Store.History] and [Store.RollbackTx] reach back as far as etcd keeps old revisions.
package etcd
