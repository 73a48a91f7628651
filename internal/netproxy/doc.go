// Package netproxy is a TCP proxy on loopback for tests. It forwards connections to an
// address and, on command, injects network faults. It cuts, stalls, delays and half-closes
// connections, refuses new ones, and counts the forwarded bytes.
//
// A command is in force when its method returns. It applies to current connections and,
// except for Disconnect and HalfClose, to future ones.
package netproxy
