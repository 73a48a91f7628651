package load

import (
	"runtime"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"google.golang.org/protobuf/proto"
)

// names returns the names of the clusters in a report.
func names(delta *Delta) map[string]bool {
	all := make(map[string]bool)
	for _, stats := range delta.Stats {
		all[stats.GetClusterName()] = true
	}
	return all
}

// A full store removes unused clusters. Then it has room for as many clusters again as are in use.
func TestAFullStoreIsSwept(t *testing.T) {
	s := NewStore(nil)
	unused := func(name string) {
		c := s.Cluster(name, "")
		c.Drop("")
		c.Release()
	}
	for i := range minRoom - 1 {
		s.Cluster(strconv.Itoa(i), "")
	}
	unused("before")
	if !names(s.Delta(everything, time.Now()))["before"] {
		t.Error("a store that is not full lost a cluster")
	}
	s.Cluster("one more", "")
	if names(s.Delta(everything, time.Now()))["before"] {
		t.Errorf("a store of %d clusters took one more without a sweep", minRoom)
	}
	unused("after")
	s.Cluster("another", "")
	if !names(s.Delta(everything, time.Now()))["after"] {
		t.Errorf("a store with %d clusters in use is swept for each new one", minRoom)
	}
}

// A part may be as long as the limit. The size of each cluster includes its tag and the longest
// length prefix of protobuf.
func TestSplitFillsParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // so that all intervals have the same length
		s := NewStore(nil)
		for _, name := range []string{"a", "b", "c"} {
			s.Cluster(name, "").Drop("")
		}
		whole := s.Delta(everything, time.Now())
		two := 2 * (proto.Size(whole.Stats[0]) + 1 + 5)
		for limit, want := range map[int][]int{two: {2, 1}, two - 1: {1, 1, 1}} {
			var got []int
			for _, part := range whole.Split(limit) {
				got = append(got, len(part.Stats))
			}
			if !slices.Equal(got, want) {
				t.Errorf("with a limit of %d bytes, the parts have %v clusters; want %v", limit, got, want)
			}
		}
	})
}

// A load report ignores a utilization of 0, because it means no report (gRFC A51). It includes a
// named metric of 0.
func TestUtilizationsOfZeroAreNotCounted(t *testing.T) {
	s := NewStore(nil)
	l := s.Cluster("c", "").Locality(LocalityID{}, Propagation{CPU: true, Memory: true, Application: true, AllNamed: true})
	l.CallStarted()
	l.CallFinished(nil, &Metrics{Named: map[string]float64{"m": 0}})
	got := commit(s)
	got[0].LoadReportInterval = nil
	wantStats(t, got, `cluster_name: "c" upstream_locality_stats {
		locality {} total_issued_requests: 1 total_successful_requests: 1
		load_metric_stats { metric_name: "named_metrics.m" num_requests_finished_with_metric: 1 } }`)
}

// Each processor has a lane, up to the limit. A lane fills a cache line.
func TestLanesOfProcessors(t *testing.T) {
	if size := unsafe.Sizeof(lane{}); size != 64 {
		t.Errorf("a lane has %d bytes; want a cache line of 64", size)
	}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for processors, want := range map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, maxLanes: maxLanes, maxLanes + 1: maxLanes} {
		runtime.GOMAXPROCS(processors)
		s := newSpread()
		if s.lanes != want {
			t.Errorf("%d processors get %d lanes; want %d", processors, s.lanes, want)
		}
		tickets := make(map[int]int)
		for range 2 * want {
			tickets[s.tickets.New().(*ticket).lane]++
		}
		for lane := range want {
			if tickets[lane] != 2 {
				t.Errorf("%d of %d tickets are for lane %d of %d; want 2", tickets[lane], 2*want, lane, want)
			}
		}
	}
}
