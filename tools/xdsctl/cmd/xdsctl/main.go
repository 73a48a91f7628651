// Command xdsctl shows the state of xDS clients, checks resources, and explains how calls are routed.
// See docs/xdsctl.md.
package main

import "github.com/xdsforge/xdsforge/tools/xdsctl"

func main() { xdsctl.Main() }
