package clustermanager

import (
	"log/slog"
	"slices"
	"testing"

	"google.golang.org/grpc/balancer"

	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/outlier"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
	"github.com/xdsforge/xdsforge/internal/scrape"
	"github.com/xdsforge/xdsforge/internal/telemetry"
)

// A cluster counts its outliers in the metrics of the target (A91).
func TestOutlierMetrics(t *testing.T) {
	meter := scrape.NewMeter()
	calls, err := telemetry.NewCalls(meter)
	if err != nil {
		t.Fatal(err)
	}
	loop := serial.New(func() {})
	defer loop.Close(func() {})
	state := &lbtree.State{Breakers: new(breaker.Set), Logger: slog.New(slog.DiscardHandler), Metrics: calls.Of("xds:///svc")}
	loop.Do(func() {
		c := newLeafCluster(&lbtree.Env{Loop: loop, Conn: new(channel), State: state}, "c", func(balancer.State) {})
		c.outlier.Detected(outlier.SuccessRate, "")
		c.outlier.Detected(outlier.FailurePercentage, outlier.MaxEjectionOverflow)
		c.Close()
	})
	const prefix, of = "grpc.lb.outlier_detection.", "{grpc.lb.backend_service=c,grpc.lb.outlier_detection."
	got, err := meter.Lines(t.Context(), prefix)
	want := []string{
		prefix + "ejections_enforced" + of + "detection_method=success_rate,grpc.target=xds:///svc} 1",
		prefix + "ejections_unenforced" + of + "detection_method=failure_percentage,grpc.lb.outlier_detection.unenforced_reason=max_ejection_overflow,grpc.target=xds:///svc} 1",
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("metrics %q, %v; want %q", got, err, want)
	}
}
