// Package xdsctl is the command of operators: it shows the state of xDS clients, checks resources
// without a control plane, and explains how calls are routed. docs/xdsctl.md describes it.
//
// A program with resource types or extensions of its own links them into a command of its own:
//
//	func main() { xdsctl.Main(ratelimit.Register) }
//
// The command links all messages of Envoy. It reads other messages by their descriptor sets.
package xdsctl
