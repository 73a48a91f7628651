// Package fault runs the fault injection filter of clients (gRFC A33). Package plugins/httpfilter/fault reads and
// validates its configurations.
package fault
