package dataplane_test

import (
	"fmt"

	"github.com/xdsforge/xdsforge/framework/status/dataplane"
)

// A health check of a program reports the ports that do not serve, and why.
func Example() {
	servers := []dataplane.Server{{Ports: []dataplane.Port{ // of Env.Servers
		{Address: "127.0.0.1:8080", Listener: "orders", Mode: dataplane.Serving},
		{Address: "127.0.0.1:8443", Listener: "orders-tls", Mode: dataplane.NotServing, Reason: "the control plane has deleted the Listener"},
	}}}
	for _, s := range servers {
		for _, p := range s.Ports {
			if p.Mode != dataplane.Serving {
				fmt.Println(p.Address, p.Mode, p.Reason)
			}
		}
	}
	// Output: 127.0.0.1:8443 NOT_SERVING the control plane has deleted the Listener
}
