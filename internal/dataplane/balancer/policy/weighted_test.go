package policy

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	estats "google.golang.org/grpc/experimental/stats"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
)

// recordedMetrics sums the metrics by name and labels.
type recordedMetrics struct {
	estats.MetricsRecorder

	mu   sync.Mutex
	sums map[string]float64
}

func (m *recordedMetrics) add(name string, v float64, labels []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sums == nil {
		m.sums = make(map[string]float64)
	}
	m.sums[name+" "+strings.Join(labels, ",")] += v
}

func (m *recordedMetrics) RecordInt64Count(h *estats.Int64CountHandle, v int64, labels ...string) {
	m.add(h.Name, float64(v), labels)
}

func (m *recordedMetrics) RecordFloat64Histo(h *estats.Float64HistoHandle, v float64, labels ...string) {
	m.add(h.Name, v, labels)
}

func TestUtilization(t *testing.T) {
	report := &orcav3.OrcaLoadReport{
		ApplicationUtilization: 0.5, CpuUtilization: 0.4, MemUtilization: 0.6,
		NamedMetrics: map[string]float64{"queue": 0.7, "a.b": 0.8, "nan": math.NaN(), "negative": -3},
		Utilization:  map[string]float64{"disk": 0.9},
	}
	cpu := &orcav3.OrcaLoadReport{CpuUtilization: 0.4}
	for _, tt := range []struct {
		report *orcav3.OrcaLoadReport
		names  string
		want   float64
	}{
		{report, "", 0.5},
		{cpu, "", 0.4},
		{&orcav3.OrcaLoadReport{ApplicationUtilization: -1, CpuUtilization: 0.4}, "", 0.4},
		{report, "mem_utilization", 0.6},
		{report, "cpu_utilization", 0.4},
		{report, "application_utilization,cpu_utilization", 0.5},
		{report, "named_metrics.queue", 0.7},
		{report, "named_metrics.a.b", 0.8},
		{report, "utilization.disk,named_metrics.queue", 0.9},
		{report, "cpu_utilization,utilization.disk,named_metrics.nan", 0.9},
		{report, "named_metrics.nan", 0.5},
		{report, "named_metrics.negative", 0.5},
		{report, "named_metrics.missing,request_cost.queue,rps_fractional,named_metrics", 0.5},
		{cpu, "mem_utilization", 0.4},
	} {
		var names []string
		if tt.names != "" {
			names = strings.Split(tt.names, ",")
		}
		if got := utilization(tt.report, names); got != tt.want {
			t.Errorf("utilization by %q = %v, want %v", tt.names, got, tt.want)
		}
	}
}

// TestReportsWithoutLoad expects reports that give no weight to change nothing.
func TestReportsWithoutLoad(t *testing.T) {
	config, err := parseWeighted(`{"blackoutPeriod":"0s","errorUtilizationPenalty":2}`)
	if err != nil {
		t.Fatal(err)
	}
	l := newEndpointLoad(config)
	l.OnLoadReport(&orcav3.OrcaLoadReport{CpuUtilization: 0.5, RpsFractional: 100, Eps: 25})
	const want = 100 / (0.5 + 0.25*2)
	for _, r := range []*orcav3.OrcaLoadReport{
		{},
		{CpuUtilization: 1},
		{RpsFractional: 1},
		{CpuUtilization: -1, RpsFractional: 1},
		{CpuUtilization: 1, RpsFractional: -1},
		{CpuUtilization: math.NaN(), RpsFractional: 1},
		{CpuUtilization: 1, RpsFractional: math.Inf(1)},
		{CpuUtilization: math.Inf(1), RpsFractional: 1},
		{CpuUtilization: 1, RpsFractional: 1, Eps: math.NaN()},
	} {
		l.OnLoadReport(r)
		if w, u := l.current(time.Now(), config); w != want || u != usable {
			t.Errorf("after %v the weight is %v, %v; want %v", r, w, u, want)
		}
	}
	l.done(balancer.DoneInfo{})
	l.done(balancer.DoneInfo{ServerLoad: (*orcav3.OrcaLoadReport)(nil)})
	l.OnLoadReport(&orcav3.OrcaLoadReport{CpuUtilization: 0.5, RpsFractional: 100, Eps: -25})
	if w, _ := l.current(time.Now(), config); w != 200 {
		t.Errorf("a negative rate of errors gives the weight %v, want 200", w)
	}
}

// TestUsableWeights expects weights to be used after the blackout period, until they expire, and
// only for the connection that reported them.
func TestUsableWeights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config, err := parseWeighted(`{"blackoutPeriod":"10s","weightExpirationPeriod":"60s"}`)
		if err != nil {
			t.Fatal(err)
		}
		l := newEndpointLoad(config)
		l.connect(new(sideSubConn))
		expect := func(when string, want usability) {
			t.Helper()
			w, got := l.current(time.Now(), config)
			if got != want || (w > 0) != (want == usable) {
				t.Errorf("%s: the weight is %v, %v; want %v", when, w, got, want)
			}
		}
		report := func() { l.OnLoadReport(&orcav3.OrcaLoadReport{CpuUtilization: 0.5, RpsFractional: 100}) }
		expect("without a report", notYet)
		report()
		expect("at first", notYet)
		pass(9 * time.Second)
		report()
		expect("after 9 s", notYet)
		pass(time.Second)
		expect("after 10 s", usable)
		pass(58 * time.Second)
		expect("59 s after the newest report", usable)
		pass(time.Second)
		expect("60 s after it", stale)
		report()
		expect("with a report after that", notYet)
		pass(10 * time.Second)
		expect("10 s later", usable)
		sc := l.conn
		l.connect(sc)
		expect("healthy again on the same connection", usable)
		l.disconnect()
		l.connect(sc)
		expect("connected again", notYet)
		report()
		pass(10 * time.Second)
		expect("10 s after a report of that", usable)
		l.connect(new(sideSubConn))
		expect("connected to another address", notYet)
	})
}

func TestSchedule(t *testing.T) {
	for _, tt := range []struct {
		weights []float64
		want    []float64 // shares
		equal   bool
		scales  []float64 // nil: 1
	}{
		{[]float64{1, 2, 3}, []float64{1, 1, 0.3}, false, []float64{1, 0.5, 0.1}},
		{[]float64{1, 0, 3}, []float64{0.1, 1, 3}, false, []float64{0.1, 0.5, 1}},
		{[]float64{2, 4}, []float64{2, 4}, false, []float64{0.01, 0.01}},
		{[]float64{2, 4}, []float64{1, 1}, true, []float64{0, 0}},
		{[]float64{5}, []float64{1}, true, nil},
		{[]float64{0, 0, 0}, []float64{1, 1, 1}, true, nil},
		{[]float64{0, 7, 0}, []float64{1, 1, 1}, true, nil},
		{[]float64{1, 2, 3}, []float64{1, 2, 3}, false, nil},
		{[]float64{1, 0, 3}, []float64{1, 2, 3}, false, nil},
		{[]float64{2, 2}, []float64{1, 1}, false, nil},
		{[]float64{math.MaxFloat64, math.MaxFloat64, math.MaxFloat64 / 2}, []float64{2, 2, 1}, false, nil},
		{[]float64{100, 1, 50, 50, 0}, []float64{100, 1, 50, 50, 50.25}, false, nil},
	} {
		scales := slices.Repeat([]float64{1}, len(tt.weights))
		if tt.scales != nil {
			scales = tt.scales
		}
		s, equal := newSchedule(tt.weights, scales)
		if equal != tt.equal {
			t.Errorf("%v: equal = %t, want %t", tt.weights, equal, tt.equal)
		}
		var next atomic.Uint64
		next.Store(1 << 40)
		const rounds = 20_000
		var all float64
		for _, w := range tt.want {
			all += w
		}
		counts := make([]float64, len(tt.weights))
		for range rounds * len(tt.weights) {
			counts[s.pick(&next)]++
		}
		for i, n := range counts {
			if share, want := n/rounds/float64(len(tt.weights)), tt.want[i]/all; math.Abs(share-want) > 0.002 {
				t.Errorf("%v: endpoint %d has a share of %v, want %v", tt.weights, i, share, want)
			}
		}
	}
	s, _ := newSchedule([]float64{1e9, 1e9, 1}, []float64{1, 1, 1})
	var next atomic.Uint64
	got := make(map[int]bool)
	for range 400_000 {
		got[s.pick(&next)] = true
	}
	if !got[2] {
		t.Error("an endpoint with a small weight gets no calls, and so cannot report")
	}
}

// shares makes n calls, of which each reports the load of its endpoint, and returns the shares.
func (s *side) shares(n int, load map[string]*orcav3.OrcaLoadReport) map[string]float64 {
	out := make(map[string]float64)
	for range n {
		r, err := s.last.Picker.Pick(balancer.PickInfo{})
		sc, ok := r.SubConn.(*sideSubConn)
		if err != nil || !ok {
			out[fmt.Sprint(err)]++
			continue
		}
		out[sc.addr] += 1 / float64(n)
		if r.Done != nil {
			r.Done(balancer.DoneInfo{ServerLoad: load[sc.addr]})
		}
	}
	return out
}

// TestWeightedEqualsGRPC compares the shares of calls with those of grpc-go's policy while reports
// arrive, weights expire, and endpoints change. The metrics must be equal too.
func TestWeightedEqualsGRPC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWeightedDuel(t, `{"blackoutPeriod":"3s","weightExpirationPeriod":"20s","weightUpdatePeriod":"0.5s","errorUtilizationPenalty":2}`)
		defer d.close()
		d.connect("a", "b", "c", "m+n")
		load := map[string]*orcav3.OrcaLoadReport{
			"a": {CpuUtilization: 0.5, RpsFractional: 100}, "b": {ApplicationUtilization: 0.5, CpuUtilization: 0.1, RpsFractional: 300, Eps: 30},
			"c": {CpuUtilization: 0.5}, "d": {CpuUtilization: 0.2, RpsFractional: 77},
		}
		check := func(when string) {
			t.Helper()
			synctest.Wait()
			if ours, theirs := d.ours.last.ConnectivityState, d.theirs.last.ConnectivityState; ours != theirs {
				t.Errorf("%s: the state is %v, grpc-go's is %v", when, ours, theirs)
			}
			ours, theirs := d.ours.shares(20_000, load), d.theirs.shares(20_000, load)
			for addr, want := range theirs {
				if got := ours[addr]; math.Abs(got-want) > 0.01 {
					t.Errorf("%s: the share of %s is %.3f, grpc-go's is %.3f", when, addr, got, want)
				}
			}
			if len(ours) != len(theirs) {
				t.Errorf("%s: the shares are %v, grpc-go's are %v", when, ours, theirs)
			}
		}
		check("without reports")
		pass(2 * time.Second)
		check("in the blackout period")
		pass(2 * time.Second)
		check("with weights")
		pass(time.Second)
		check("with newer weights")
		d.reports("a", connectivity.Idle, nil)
		check("an endpoint is idle")
		d.reports("a", connectivity.Connecting, nil)
		d.reports("a", connectivity.Ready, nil)
		d.healthy("a", connectivity.Ready)
		check("it is ready again, without a weight")
		d.update(endpointsOf("b", "c", "m+n", "d")...)
		d.reports("d", connectivity.Connecting, nil)
		d.reports("d", connectivity.Ready, nil)
		d.healthy("d", connectivity.Ready)
		check("another endpoint")
		pass(4 * time.Second)
		check("it has a weight")
		d.healthy("b", connectivity.TransientFailure)
		check("one is ejected")
		d.healthy("b", connectivity.Ready)
		check("it is back")
		load = nil
		pass(30 * time.Second)
		check("all weights have expired")
		for _, addr := range []string{"b", "c", "d", "m"} {
			d.reports(addr, connectivity.Idle, nil)
		}
		check("nothing is ready")
		for name, want := range d.theirs.metrics.sums { // grpc-go's lack the locality
			name = strings.Replace(name, ",,", `,{region="", zone="", sub_zone=""},`, 1)
			if got := d.ours.metrics.sums[name]; math.Abs(got-want) > 1e-6*want {
				t.Errorf("the sum of metric %s is %v, grpc-go's is %v", name, got, want)
			}
		}
		if len(d.ours.metrics.sums) != 4 {
			t.Errorf("the metrics are %v", d.ours.metrics.sums)
		}
	})
}

// TestWeightedConfiguration expects an unusable configuration to fail calls until there is another.
func TestWeightedConfiguration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWeightedDuel(t, `{}`)
		defer d.close()
		d.connect("a", "b")
		update := func(config string) {
			d.loop.Do(func() {
				d.ours.policy.Update(lbtree.Target{Policy: resource.LBConfig{Config: config}, Localities: []lbtree.Locality{{Weight: 1, Endpoints: endpointsOf("a", "b")}}})
			})
		}
		for config, want := range map[string]string{`{"errorUtilizationPenalty":-1}`: "errorUtilizationPenalty = -1; must be at least 0", `[]`: "cannot unmarshal", `{"slowStartConfig":{}}`: "slowStartWindow = 0s; must be above 0s"} {
			update(config)
			f, ok := d.ours.last.Picker.(lbtree.Fail)
			if !ok || !strings.Contains(f.Err.Error(), want) {
				t.Errorf("%s: calls fail with %v, want %s", config, d.ours.last.Picker, want)
			}
			d.reports("a", connectivity.Idle, nil)
			if d.ours.last.ConnectivityState != connectivity.TransientFailure {
				t.Errorf("the state is %v while the configuration is unusable", d.ours.last.ConnectivityState)
			}
		}
		update(`{"weightUpdatePeriod":"0s"}`)
		if p, _ := d.ours.policy.(*weighted); d.ours.last.ConnectivityState != connectivity.Ready || time.Duration(p.config.Update) != 100*time.Millisecond {
			t.Errorf("with a usable configuration: %v, weights are updated every %v", d.ours.last.ConnectivityState, time.Duration(p.config.Update))
		}
	})
}

// TestSlowStart expects an endpoint that has just become ready to have a reduced share, also while its
// weight is not known, and the full share after the window (A100).
func TestSlowStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newWeightedDuel(t, `{"blackoutPeriod":"30s","weightUpdatePeriod":"1s","slowStartConfig":{"slowStartWindow":"100s","aggression":2,"minWeightPercent":20}}`)
		defer d.close()
		d.connect("a", "b", "c")
		load := make(map[string]*orcav3.OrcaLoadReport)
		for i, addr := range []string{"a", "b", "c"} {
			load[addr] = &orcav3.OrcaLoadReport{CpuUtilization: 1, RpsFractional: float64(100 * (i + 1))}
		}
		expect := func(when string, want float64) {
			t.Helper()
			synctest.Wait()
			if got := d.ours.shares(20_000, load)["c"]; math.Abs(got-want) > 0.01 {
				t.Errorf("%s: the share is %.3f, want %.3f", when, got, want)
			}
		}
		expect("no weight is known", 1.0/3)
		pass(101 * time.Second)
		expect("at full weight", 0.5)
		d.reports("c", connectivity.Idle, nil)
		d.reports("c", connectivity.Connecting, nil)
		d.reports("c", connectivity.Ready, nil)
		d.healthy("c", connectivity.Ready)
		share := func(weight, scale float64) float64 { return weight * scale / (weight*scale + 300) }
		expect("connected again", share(150, 0.2))
		pass(25500 * time.Millisecond)
		expect("after a quarter of the window, in the blackout period", share(150, 0.5))
		pass(24 * time.Second)
		expect("after half of the window", share(300, math.Sqrt(0.49)))
		pass(51 * time.Second)
		expect("after the window", 0.5)
		d.healthy("c", connectivity.TransientFailure)
		d.healthy("c", connectivity.Ready)
		expect("back after an ejection", share(300, 0.2))
	})
}
