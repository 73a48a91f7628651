// Command xdsd serves resources by ADS: those in a folder, in etcd, or of another control plane. See docs/xdsd.md.
package main

import "github.com/xdsforge/xdsforge/tools/xdsd"

func main() { xdsd.Main() }
