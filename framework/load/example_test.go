package load_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge/framework/load"
)

// A program gets its stores from the client. The client also reports their counters.
func ExampleStore() {
	store := load.NewStore(nil)
	checkout := store.Cluster("checkout", "")
	south := checkout.Locality(load.LocalityID{Region: "south"}, load.Propagation{CPU: true})

	south.CallStarted()
	south.CallFinished(nil, &load.Metrics{CPU: 0.75})
	south.CallStarted()
	south.CallFinished(errors.New("503"), nil)
	checkout.Drop("throttle")

	report := store.Delta(load.ClusterFilter{All: true}, time.Now())
	for _, c := range report.Stats {
		l := c.GetUpstreamLocalityStats()[0]
		fmt.Println(c.GetClusterName(), "dropped", c.GetTotalDroppedRequests())
		fmt.Println(l.GetLocality().GetRegion(), "succeeded", l.GetTotalSuccessfulRequests(), "failed", l.GetTotalErrorRequests())
		fmt.Println("cpu", l.GetCpuUtilization().GetTotalMetricValue())
	}
	report.Commit() // it was sent
	// Output:
	// checkout dropped 1
	// south succeeded 1 failed 1
	// cpu 0.75
}
