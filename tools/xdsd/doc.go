// Package xdsd is the daemon that serves resources by ADS. docs/xdsd.md describes it.
//
// A program with resource types or extensions of its own links them into a daemon of its own:
//
//	func main() { xdsd.Main(ratelimit.Register) }
package xdsd
