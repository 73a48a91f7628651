package outlier

import (
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// An endpoint whose failures are exactly the threshold stays, and one more failure ejects it (A50).
func TestFailurePercentageIsExact(t *testing.T) {
	for _, volume := range []int{20, 25, 50, 100, 1000} {
		for threshold := range 100 {
			if threshold*volume%100 != 0 {
				continue
			}
			for more := range 2 {
				m := New(func() uint32 { return 0 })
				now := time.Unix(1000, 0)
				m.Configure(&cluster.OutlierDetection{
					Interval: time.Second, BaseEjectionTime: time.Second, MaxEjectionTime: time.Second, MaxEjectionPercent: 100,
					FailurePercentage: cluster.FailurePercentage{Threshold: uint32(threshold), Enforcement: 100, MinimumHosts: 1, RequestVolume: 1},
				}, []string{"a"}, now)
				failures := threshold*volume/100 + more
				for i := range volume {
					m.Endpoint("a").Record(i >= failures)
				}
				if out, _ := m.EndInterval(now.Add(2 * time.Second)); len(out) != more {
					t.Errorf("%d of %d calls fail, threshold %d: %d endpoints are ejected; want %d", failures, volume, threshold, len(out), more)
				}
			}
		}
	}
}

// Endpoints that are equally good all stay, whatever stdev_factor is: none is below the mean (A50).
func TestEqualSuccessRatesAreExact(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	for n := 2; n <= len(names); n++ {
		for successes := range 51 {
			for _, factor := range []uint32{0, 500, 1000, 1900} {
				m := New(func() uint32 { return 0 })
				now := time.Unix(1000, 0)
				m.Configure(&cluster.OutlierDetection{
					Interval: time.Second, BaseEjectionTime: time.Second, MaxEjectionTime: time.Second, MaxEjectionPercent: 100,
					SuccessRate: cluster.SuccessRate{StdevFactor: factor, Enforcement: 100, MinimumHosts: 1, RequestVolume: 1},
				}, names[:n], now)
				for _, name := range names[:n] {
					for i := range 50 {
						m.Endpoint(name).Record(i < successes)
					}
				}
				if out, _ := m.EndInterval(now.Add(2 * time.Second)); len(out) > 0 {
					t.Errorf("%d endpoints with %d of 50 successes, stdev_factor %d: %d are ejected; want none", n, successes, factor, len(out))
				}
			}
		}
	}
}
