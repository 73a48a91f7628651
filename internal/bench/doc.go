// Command bench measures the framework against bounds that are ratios: its own
// work beside that of a minimal client, in the same run on the same machine.
//
// A minimal client is the least that can be called one: the ADS stream by
// go-control-plane's messages, proto.Unmarshal for every resource, a map and a
// callback. It has no validation, no timers, no reconnect. A skipping client also
// compares the bytes of each resource with those that it has, and decodes only what
// differs.
//
// The control plane is go-control-plane's, in a process of its own, so that what is
// measured here is the client alone: the processor time of this process.
//
//	go run ./internal/bench            # every row
//	go run ./internal/bench -rows sub  # rows whose name contains "sub"
//	go run ./internal/bench -json f    # figures also as JSON
//
// Its exit code is 1 if a bound is not kept.
package main
