package clustermanager_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	serviceorcav3 "github.com/cncf/xds/go/xds/service/orca/v3"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// A reporter is a server that reports its load apart from calls.
type reporter struct {
	*backend

	intervals chan time.Duration // of requests for reports
	ended     chan struct{}      // gets a value when a stream of reports ends
}

func startReporter(t *testing.T, report *orcav3.OrcaLoadReport) *reporter {
	r := &reporter{intervals: make(chan time.Duration, 10), ended: make(chan struct{}, 10)}
	r.backend = start(t, grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		in := new(serviceorcav3.OrcaLoadReportRequest)
		if err := s.RecvMsg(in); err != nil {
			return err
		}
		r.intervals <- in.GetReportInterval().AsDuration()
		defer func() { r.ended <- struct{}{} }()
		if err := s.SendMsg(report); err != nil {
			return err
		}
		<-s.Context().Done()
		return nil
	}))
	return r
}

// TestWeightsOfReports expects weighted_round_robin to request load reports apart from calls with the
// configured interval, to compute weights from the configured metrics (A114), and to end the reports
// when they are not configured any more.
func TestWeightsOfReports(t *testing.T) {
	light := startReporter(t, &orcav3.OrcaLoadReport{RpsFractional: 100, CpuUtilization: 0.9, NamedMetrics: map[string]float64{"queue": 0.1}})
	heavy := startReporter(t, &orcav3.OrcaLoadReport{RpsFractional: 100, CpuUtilization: 0.1, NamedMetrics: map[string]float64{"queue": 0.9}})
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	set := func(oob bool, interval string) {
		w.one(eds(resource.LBConfig{Name: "weighted_round_robin", Config: fmt.Sprintf(`{"blackoutPeriod":"0s","weightUpdatePeriod":"0.1s",
			"enableOobLoadReport":%t,"oobReportingPeriod":%q,"metricNamesForComputingUtilization":["named_metrics.queue"]}`, oob, interval)},
			locality("x", 0, 1, light.backend, heavy.backend)))
		w.to("c")
	}
	requested := func(want time.Duration) {
		t.Helper()
		for _, r := range []*reporter{light, heavy} {
			select {
			case got := <-r.intervals:
				if got != want {
					t.Errorf("reports are requested every %v, want every %v", got, want)
				}
			case <-ctx.Done():
				t.Fatal("no reports are requested")
			}
		}
	}
	ended := func() {
		t.Helper()
		for _, r := range []*reporter{light, heavy} {
			select {
			case <-r.ended:
			case <-ctx.Done():
				t.Fatal("reports that are not configured have not ended")
			}
		}
	}
	set(true, "3s")
	requested(3 * time.Second)
	calls := 0
	for ctx.Err() == nil && calls < 85 {
		calls = w.spread(100, func(int) lbtree.Call { return lbtree.Call{Cluster: "c"} })[light.addr]
	}
	if calls < 85 || calls > 95 {
		t.Errorf("the server with less load got %d of 100 calls, want 90", calls)
	}
	set(true, "5s")
	ended()
	requested(5 * time.Second)
	set(false, "5s")
	ended()
}
