// Package lrs is the stream on which load is reported (envoy.service.load_stats.v3), as a
// machine without I/O. Package load counts what it reports.
//
// A [Machine] says when to open a stream and when to report on it. It obeys the server's
// intervals, within bounds, and the list of clusters. It keeps to the backoff of ADS, and
// leaves a server that does not have the service alone for an hour.
package lrs
