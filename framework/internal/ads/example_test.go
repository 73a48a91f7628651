package ads_test

import (
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// The machine is told what happens and answers with what to do.
func ExampleMachine() {
	clusters := &resource.Descriptor{Name: "envoy.config.cluster.v3.Cluster"}
	m := ads.New(ads.Config{})
	now := time.Now()
	for _, event := range []ads.Event{
		ads.Subscribe{Type: clusters, Name: "checkout"},
		ads.Turn{},
		ads.Opened{},
		ads.Turn{},
		ads.Written{},
		ads.Received{Type: clusters, Version: "1", Nonce: "a"},
		ads.Turn{},
	} {
		for _, effect := range m.Handle(event, now) {
			switch e := effect.(type) {
			case ads.Open:
				fmt.Println("open a stream")
			case ads.Send:
				fmt.Printf("send names %v, version %q, nonce %q\n", e.Names, e.Version, e.Nonce)
			case ads.Asked:
				fmt.Printf("asked for %v\n", e.Names)
			case ads.Healthy:
				fmt.Println("the control plane can be reached")
			}
		}
	}
	// Output:
	// open a stream
	// send names [checkout], version "", nonce ""
	// asked for [checkout]
	// the control plane can be reached
	// send names [checkout], version "1", nonce "a"
}
