// Package lrs is the stream on which load is reported (envoy.service.load_stats.v3), as a machine
// without I/O. Package load counts the load.
//
// A [Machine] decides when to open a stream and when to report on it. It obeys the server's
// intervals, within bounds, and the list of clusters. It uses the backoff of ADS. If a server does
// not have the service, it retries after an hour.
package lrs
