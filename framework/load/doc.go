// Package load counts the load that a program puts on the clusters of xDS. The client reports it to
// control planes by LRS (envoy.service.load_stats.v3).
//
// # Counting
//
// A [Store] belongs to one server entry. [Store.Cluster] returns a handle of a cluster, which
// counts drops. [Cluster.Locality] returns a handle of the endpoints of a locality. It counts
// calls, and the metrics that the endpoints send with them:
//
//	cluster := store.Cluster("checkout", "")
//	locality := cluster.Locality(load.LocalityID{Region: "south"}, load.Propagation{})
//	locality.CallStarted()
//	locality.CallFinished(err, nil)
//
// Handles with the same names share their counters. Counting allocates nothing and takes no
// contended lock: each processor has its own cache line of counters. Counters never decrease. A
// report is the difference to the last one. A cluster or locality without handles is reported once
// more and then removed, after its calls in progress have finished.
//
// # Reporting
//
// [Store.Delta] collects the load since the last report. [Delta.Commit] marks it as reported, and is
// called once the report has been sent. A report that could not be sent is part of the next one.
// LRS has no acknowledgement. If the stream breaks after a report was sent, the report counts as
// received. It may be lost, but nothing is ever counted twice.
//
// # Security
//
// Load is reported only to servers in the bootstrap. Code that hands out stores uses [CheckServer].
// [ParseServer] checks the field in the configurations of LB policies (gRFC A47).
//
// The client's LoadStore combines all of this.
package load
