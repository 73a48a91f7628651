// Package fault is the fault injection filter (gRFC A33) of clients: its
// configuration, read and validated.
package fault
