package outlier_test

import (
	"maps"
	"math"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/internal/dataplane/outlier"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

var epoch = time.Unix(1_000_000, 0)

// A bench is a machine with a clock.
type bench struct {
	*outlier.Machine
	t      *testing.T
	now    time.Time
	config *cluster.OutlierDetection
	names  []string
	chance uint32
}

func newBench(t *testing.T, config cluster.OutlierDetection, names ...string) *bench {
	if config.Interval == 0 {
		config.Interval = 10 * time.Second
	}
	if config.BaseEjectionTime == 0 {
		config.BaseEjectionTime, config.MaxEjectionTime = 30*time.Second, 300*time.Second
	}
	b := &bench{t: t, now: epoch, config: &config, names: names}
	b.Machine = outlier.New(func() uint32 { return b.chance })
	b.Configure(b.config, names, b.now)
	return b
}

// calls records the calls of an interval: successes and failures of each endpoint.
func (b *bench) calls(counts ...[2]int) {
	for i, c := range counts {
		for range c[0] {
			b.Endpoint(b.names[i]).Record(true)
		}
		for range c[1] {
			b.Endpoint(b.names[i]).Record(false)
		}
	}
}

// turn ends the interval and checks which endpoints are ejected.
func (b *bench) turn(ejected ...string) {
	b.t.Helper()
	before := b.ejected()
	next, ok := b.Next()
	if !ok {
		b.t.Fatal("there is no interval")
	}
	b.now = next
	in, out := b.EndInterval(b.now)
	after := b.ejected()
	want := make(map[string]bool)
	for _, name := range ejected {
		want[name] = true
	}
	for _, name := range b.names {
		if after[name] != want[name] {
			b.t.Errorf("at %v, %s: ejected %t, want %t", b.now.Sub(epoch), name, after[name], want[name])
		}
	}
	changes := 0
	for _, name := range b.names {
		if before[name] != after[name] {
			changes++
		}
	}
	if len(in)+len(out) != changes {
		b.t.Errorf("at %v: %d notifications of %d changes", b.now.Sub(epoch), len(in)+len(out), changes)
	}
}

func (b *bench) ejected() map[string]bool {
	out := make(map[string]bool)
	for _, name := range b.names {
		out[name] = b.Endpoint(name).Ejected()
	}
	return out
}

var (
	bySuccess = cluster.OutlierDetection{MaxEjectionPercent: 100, SuccessRate: cluster.SuccessRate{
		Enforcement: 100, StdevFactor: 1000, MinimumHosts: 3, RequestVolume: 10,
	}}
	byFailures = cluster.OutlierDetection{MaxEjectionPercent: 100, FailurePercentage: cluster.FailurePercentage{
		Enforcement: 100, Threshold: 50, MinimumHosts: 3, RequestVolume: 10,
	}}
)

func TestSuccessRate(t *testing.T) {
	good, bad := [2]int{100, 0}, [2]int{50, 50}
	for name, test := range map[string]struct {
		change func(*cluster.OutlierDetection)
		calls  [][2]int
		want   []string
	}{
		"one is worse":         {nil, [][2]int{good, good, bad}, []string{"c"}},
		"all are equally bad":  {nil, [][2]int{bad, bad, bad}, nil},
		"too few have calls":   {nil, [][2]int{good, good, {4, 5}}, nil},
		"just enough calls":    {nil, [][2]int{good, good, {4, 6}}, []string{"c"}},
		"within the deviation": {func(c *cluster.OutlierDetection) { c.SuccessRate.StdevFactor = 1500 }, [][2]int{good, good, bad}, nil},
		"nobody is called":     {func(c *cluster.OutlierDetection) { c.SuccessRate.RequestVolume = 0 }, nil, nil},
		"one is not called": {func(c *cluster.OutlierDetection) {
			c.SuccessRate.RequestVolume, c.SuccessRate.MinimumHosts, c.SuccessRate.StdevFactor = 0, 2, 500
		}, [][2]int{good, bad}, []string{"b"}},
		"chance is against it": {func(c *cluster.OutlierDetection) { c.SuccessRate.Enforcement = 49 }, [][2]int{good, good, bad}, nil},
		"chance is for it":     {func(c *cluster.OutlierDetection) { c.SuccessRate.Enforcement = 51 }, [][2]int{good, good, bad}, []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := bySuccess
			if test.change != nil {
				test.change(&config)
			}
			b := newBench(t, config, "a", "b", "c")
			b.chance = 50
			b.calls(test.calls...)
			b.turn(test.want...)
		})
	}
}

func TestFailurePercentage(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cluster.OutlierDetection)
		calls  [][2]int
		want   []string
	}{
		"above the threshold":    {nil, [][2]int{{100, 0}, {49, 51}, {20, 80}}, []string{"b", "c"}},
		"at the threshold":       {nil, [][2]int{{100, 0}, {50, 50}, {100, 0}}, nil},
		"too few hosts":          {func(c *cluster.OutlierDetection) { c.FailurePercentage.MinimumHosts = 4 }, [][2]int{{0, 100}, {0, 100}, {0, 100}}, nil},
		"too few calls":          {nil, [][2]int{{100, 0}, {100, 0}, {0, 9}}, nil},
		"chance is against it":   {func(c *cluster.OutlierDetection) { c.FailurePercentage.Enforcement = 50 }, [][2]int{{100, 0}, {100, 0}, {0, 100}}, nil},
		"nobody is called":       {func(c *cluster.OutlierDetection) { c.FailurePercentage.RequestVolume = 0 }, nil, nil},
		"all may be ejected":     {nil, [][2]int{{0, 100}, {0, 100}, {0, 100}}, []string{"a", "b", "c"}},
		"an algorithm is enough": {func(c *cluster.OutlierDetection) { c.SuccessRate = bySuccess.SuccessRate }, [][2]int{{100, 0}, {100, 0}, {0, 100}}, []string{"c"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := byFailures
			if test.change != nil {
				test.change(&config)
			}
			b := newBench(t, config, "a", "b", "c")
			b.chance = 50
			b.calls(test.calls...)
			b.turn(test.want...)
		})
	}
}

func TestMaxEjectionPercent(t *testing.T) {
	config := byFailures
	for percent, want := range map[uint32]int{
		34: 2, // 1 of 4 is below 34 %, 2 of 4 are not
		50: 2, 51: 3, 25: 1, 0: 0,
	} {
		config.MaxEjectionPercent = percent
		b := newBench(t, config, "a", "b", "c", "d")
		b.calls([2]int{0, 100}, [2]int{0, 100}, [2]int{0, 100}, [2]int{0, 100})
		next, _ := b.Next()
		in, _ := b.EndInterval(next)
		if len(in) != want {
			t.Errorf("with at most %d %%, %d endpoints were ejected, want %d", percent, len(in), want)
		}
	}
}

// TestShortestInterval expects at least 10 ms between two evaluations.
func TestShortestInterval(t *testing.T) {
	config := byFailures
	config.Interval = 1
	b := newBench(t, config, "a")
	if next, ok := b.Next(); !ok || next.Sub(epoch) != 10000*time.Microsecond {
		t.Errorf("the next turn is after %v, want 10ms", next.Sub(epoch))
	}
}

// The first ejection lasts 30 s, the second 60 s. Two intervals without an ejection reset the
// duration.
func TestEjectionTime(t *testing.T) {
	b := newBench(t, byFailures, "a", "b", "c")
	fail := func() { b.calls([2]int{100, 0}, [2]int{100, 0}, [2]int{0, 100}) }
	fail()
	b.turn("c") // at 10 s
	b.turn("c")
	b.turn("c")
	b.turn("c") // at 40 s: longer than 30 s
	b.turn()
	fail()
	b.turn("c") // at 60 s, for the second time
	for range 6 {
		b.turn("c")
	}
	b.turn()
	b.turn() // each interval without an ejection lowers the multiplier by one
	b.turn()
	fail()
	b.turn("c")
	for range 3 {
		b.turn("c")
	}
	b.turn()
}

func TestLongestEjectionTime(t *testing.T) {
	for name, test := range map[string]struct{ base, most, want time.Duration }{
		"the most":           {30 * time.Second, 20 * time.Second, 30 * time.Second}, // but never below the base
		"a base beyond time": {math.MaxInt64 / 2, math.MaxInt64 / 2, math.MaxInt64 / 2},
	} {
		t.Run(name, func(t *testing.T) {
			config := byFailures
			config.Interval, config.BaseEjectionTime, config.MaxEjectionTime = 10*time.Second, test.base, test.most
			b := newBench(t, config, "a", "b", "c")
			for range 3 {
				b.calls([2]int{100, 0}, [2]int{100, 0}, [2]int{0, 100})
				b.turn("c") // the multiplier rises each time
			}
			if test.want > time.Hour {
				return
			}
			for range int(test.want / config.Interval) {
				b.turn("c")
			}
			b.turn()
		})
	}
}

func TestConfigure(t *testing.T) {
	b := newBench(t, byFailures, "a", "b", "c")
	b.calls([2]int{100, 0}, [2]int{100, 0}, [2]int{0, 100})
	b.turn("c")
	// After half of an interval, the configured interval gets shorter. The start of the current
	// interval does not change.
	b.now = b.now.Add(5 * time.Second)
	shorter := *b.config
	shorter.Interval = 7 * time.Second
	b.names = []string{"a", "c"}
	b.Configure(&shorter, b.names, b.now)
	if next, _ := b.Next(); !next.Equal(b.now.Add(2 * time.Second)) {
		t.Errorf("the next turn is in %v, want 2s", next.Sub(b.now))
	}
	if !b.Endpoint("c").Ejected() || b.Endpoint("b") != nil {
		t.Error("endpoints that stay must stay as they are, and others go")
	}
	b.calls([2]int{0, 100}, [2]int{0, 100})
	for name, off := range map[string]*cluster.OutlierDetection{"no configuration": nil, "no algorithm": {Interval: 1}} {
		b.Configure(off, b.names, b.now)
		if _, ok := b.Next(); ok || b.Endpoint("c") != nil {
			t.Errorf("%s: want the end of ejections, and fresh counts", name)
		}
	}
	// After a restart, earlier counts do not apply.
	b.Configure(b.config, b.names, b.now)
	b.turn()
}

func TestIntervalsEndAtTheirTime(t *testing.T) {
	b := newBench(t, byFailures, "a", "b", "c")
	b.calls([2]int{100, 0}, [2]int{100, 0}, [2]int{0, 100})
	if in, out := b.EndInterval(b.now.Add(9 * time.Second)); len(in)+len(out) > 0 {
		t.Error("endpoints were ejected before the end of the interval")
	}
	b.turn("c")
}

func BenchmarkRecord(b *testing.B) {
	m := outlier.New(nil)
	m.Configure(&byFailures, []string{"a"}, epoch)
	e := m.Endpoint("a")
	b.ReportAllocs()
	for b.Loop() {
		e.Record(true)
	}
}

// Each outlier is reported with its method, and with the reason if the machine does not eject it (A91).
func TestDetected(t *testing.T) {
	b := newBench(t, cluster.OutlierDetection{
		MaxEjectionPercent: 20, SuccessRate: cluster.SuccessRate{Enforcement: 50, StdevFactor: 500, MinimumHosts: 1, RequestVolume: 1},
		FailurePercentage: cluster.FailurePercentage{Enforcement: 40, Threshold: 50, MinimumHosts: 1, RequestVolume: 1},
	}, "a", "b", "c", "d", "e")
	got := make(map[string]int)
	b.Detected = func(method, unenforced string) { got[method+" "+unenforced]++ }
	expect := func(want map[string]int) {
		t.Helper()
		if !maps.Equal(got, want) {
			t.Errorf("detected %v; want %v", got, want)
		}
		clear(got)
	}
	outliers := [][2]int{{9, 0}, {9, 0}, {9, 0}, {0, 9}, {0, 9}}
	b.chance = 45 // by success rate only
	b.calls(outliers...)
	b.now, _ = b.Next()
	b.EndInterval(b.now)
	expect(map[string]int{"success_rate ": 1, "success_rate max_ejection_overflow": 1, "failure_percentage max_ejection_overflow": 2})
	b = newBench(t, *b.config, b.names...)
	b.Detected = func(method, unenforced string) { got[method+" "+unenforced]++ }
	b.chance = 60
	b.calls(outliers...)
	b.now, _ = b.Next()
	b.EndInterval(b.now)
	expect(map[string]int{"success_rate enforcement_percentage": 2, "failure_percentage enforcement_percentage": 2})
}
