// Package netproxy is a TCP proxy on loopback for tests: it forwards connections
// to an address and, on command, makes the network between worse. It cuts, stalls,
// delays and half-closes connections and refuses new ones, and counts what passes.
//
// A command is in force when its method has returned, for the connections there are
// and, but for Cut and HalfClose, for those to come.
package netproxy
