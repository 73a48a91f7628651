// Command bench compares the cost of the framework with that of a minimal client, in the
// same run on the same machine. Its bounds are ratios of the two.
//
// A minimal client walks responses in place. It calls proto.Unmarshal for every resource,
// and has a map and callbacks. It sends one request for each change of its names, and its
// ACKs apart. It has no validation, no timers and no reconnect. A skipping client also
// compares the bytes of each resource with its last ones, and decodes only changed
// resources.
//
// The control plane is go-control-plane's, in a process of its own. Therefore the
// processor time of this process is that of the client alone.
//
//	go run ./internal/bench            # every row
//	go run ./internal/bench -rows sub  # rows whose name contains "sub"
//	go run ./internal/bench -json f    # figures also as JSON
//
// Its exit code is 1 if a bound is not kept.
package main
