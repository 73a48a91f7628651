// Package fault runs the fault injection filter of clients (gRFC A33). The other half,
// which reads and validates configurations, is plugins/httpfilter/fault.
package fault
