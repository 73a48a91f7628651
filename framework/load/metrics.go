package load

import (
	"math"
	"strings"
	"sync"
	"unicode/utf8"
)

// Metrics are the ORCA metrics that an endpoint reports at the end of one call (gRFC A51). A
// utilization of zero means that the endpoint did not report it. Zero, negative, infinite and NaN
// utilizations are ignored.
type Metrics struct {
	CPU         float64 // cpu_utilization
	Memory      float64 // mem_utilization
	Application float64 // application_utilization
	// Named are named_metrics: opaque values, added up (gRFC A64). An infinite or NaN value would
	// destroy the sum, so it is ignored.
	Named map[string]float64
}

// Propagation selects the endpoint metrics for load reports (gRFC A85). The zero value selects
// none. Its fields are those of the cluster plugin's MetricPropagation, so that one converts to the
// other.
type Propagation struct {
	CPU         bool
	Memory      bool
	Application bool
	AllNamed    bool // every key of named_metrics
	// Named are keys of named_metrics, sorted; nil if AllNamed is set.
	Named []string
}

func (p *Propagation) none() bool {
	return !p.CPU && !p.Memory && !p.Application && !p.AllNamed && len(p.Named) == 0
}

// key returns a text that is equal only for equal propagations.
func (p *Propagation) key() string {
	bit := map[bool]string{false: "0", true: "1"}
	return bit[p.CPU] + bit[p.Memory] + bit[p.Application] + bit[p.AllNamed] + strings.Join(p.Named, "\x00")
}

// maxNamed is the limit of named metrics of a locality in one report, because endpoints choose the
// names. Metrics beyond the limit are not counted, nor are names that are not UTF-8.
const maxNamed = 1000

// A metric is a sum over the calls that reported it.
type metric struct {
	calls uint64
	total float64
}

func (m *metric) add(o metric) {
	m.calls += o.calls
	m.total += o.total
}

// take adds a utilization of one call.
func (m *metric) take(value float64) {
	if value > 0 && !math.IsInf(value, 1) {
		m.add(metric{1, value})
	}
}

// A tally holds sums of endpoint metrics.
type tally struct {
	cpu, memory, application metric
	named                    map[string]metric
	foreign                  map[string]metric // of reporters, by names without the prefix of gRFC A85
}

func (t *tally) empty() bool {
	return t.cpu.calls == 0 && t.memory.calls == 0 && t.application.calls == 0 && len(t.named) == 0 && len(t.foreign) == 0
}

func (t *tally) addNamed(name string, m metric) { t.named = addTo(t.named, name, m) }

func (t *tally) addForeign(name string, m metric) { t.foreign = addTo(t.foreign, name, m) }

// addTo adds to a sum in a map, unless the map is full, and returns the map.
func addTo(sums map[string]metric, name string, m metric) map[string]metric {
	sum, known := sums[name]
	if !known && (len(sums) >= maxNamed || !utf8.ValidString(name)) {
		return sums
	}
	if sums == nil {
		sums = make(map[string]metric)
	}
	sum.add(m)
	sums[name] = sum
	return sums
}

// count adds the metrics that the propagation selects.
func (t *tally) count(p *Propagation, m *Metrics) {
	if p.CPU {
		t.cpu.take(m.CPU)
	}
	if p.Memory {
		t.memory.take(m.Memory)
	}
	if p.Application {
		t.application.take(m.Application)
	}
	if p.AllNamed {
		for name, value := range m.Named {
			t.takeNamed(name, value)
		}
		return
	}
	for _, name := range p.Named {
		if value, ok := m.Named[name]; ok {
			t.takeNamed(name, value)
		}
	}
}

// takeNamed adds a named metric of one call.
func (t *tally) takeNamed(name string, value float64) {
	if !math.IsInf(value, 0) && !math.IsNaN(value) {
		t.addNamed(name, metric{1, value})
	}
}

func (t *tally) add(o *tally) {
	t.cpu.add(o.cpu)
	t.memory.add(o.memory)
	t.application.add(o.application)
	for name, m := range o.named {
		t.addNamed(name, m)
	}
	for name, m := range o.foreign {
		t.addForeign(name, m)
	}
}

// move empties o into t. The map of o keeps its memory for the next period.
func (t *tally) move(o *tally) {
	t.add(o)
	clear(o.named)
	*o = tally{named: o.named}
}

// A tallyLane is one processor's tally, as a rule. A lock keeps a sum and its number of calls
// consistent. It is hardly ever contended.
type tallyLane struct {
	mu sync.Mutex
	tally
	_ [64]byte
}
