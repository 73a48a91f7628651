// Package load counts the load that a program puts on the clusters of xDS. The client reports
// it to control planes by LRS (envoy.service.load_stats.v3).
//
// # Counting
//
// A [Store] belongs to one server entry. [Store.Cluster] returns a handle of a cluster,
// which counts drops; [Cluster.Locality] one of the endpoints of a locality, which counts
// calls, and the metrics that the endpoints send with them:
//
//	cluster := store.Cluster("checkout", "")
//	locality := cluster.Locality(load.LocalityID{Region: "south"}, load.Propagation{})
//	locality.CallStarted()
//	locality.CallFinished(err, nil)
//
// Handles of the same names share their counters. Counting allocates nothing and takes no
// lock that others want: counters are spread over cache lines, one for each processor.
// Counters never go back; a report is the difference to the last one. What has no handle
// any longer is reported once more and goes, but a call that is in progress is waited for.
//
// # Reporting
//
// [Store.Cut] takes stock. Nothing is marked as reported before [Cut.Commit], which is
// called once the report has left: a report that could not be sent is part of the next
// one. LRS has no acknowledgement. A report that has left when the stream breaks counts
// as received, so that nothing is ever counted twice; it may have been lost.
//
// # Security
//
// Load is reported to servers of the bootstrap only: [CheckServer] for whoever hands out
// stores, [ParseServer] for the field in the configurations of LB policies (gRFC A47).
//
// The client's LoadStore puts all of this together.
package load
