package ads_test

import (
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// The owner reports events to the machine, and carries out the effects.
func ExampleMachine() {
	clusters := &resource.Descriptor{Name: "envoy.config.cluster.v3.Cluster"}
	m := ads.New(ads.Config{})
	now := time.Now()
	for _, event := range []func(){
		func() { m.Change(ads.Change{Op: ads.Subscribe, Type: clusters, Name: "checkout"}, now) },
		func() { m.Tick(now) },
		func() { m.Opened(now) },
		func() { m.Tick(now) },
		func() { m.Written() },
		func() { m.Received(&ads.Response{Type: clusters, Version: "1", Nonce: "a"}, now) },
		func() { m.Tick(now) },
	} {
		event()
		r := m.Ready()
		if len(r.Requested.Names) > 0 {
			fmt.Println("requested", r.Requested.Names)
		}
		if r.Healthy {
			fmt.Println("the control plane is reachable")
		}
		if r.Open {
			fmt.Println("open a stream")
		}
		if r.Send != nil {
			fmt.Printf("send names %v, version %q, nonce %q\n", r.Send.Names, r.Send.Version, r.Send.Nonce)
		}
	}
	// Output:
	// open a stream
	// send names [checkout], version "", nonce ""
	// requested [checkout]
	// the control plane is reachable
	// send names [checkout], version "1", nonce "a"
}
