// Package fault parses and validates the configuration of the fault injection filter for
// clients (gRFC A33).
package fault
