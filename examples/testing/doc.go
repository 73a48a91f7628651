// Package testing shows how programs test their use of xdsforge with package xdstest. The program
// is [Limiter]; its tests use a fake client, a control plane in memory, and a control plane on
// loopback together with a gRPC channel.
package testing
