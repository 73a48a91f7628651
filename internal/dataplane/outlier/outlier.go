// Package outlier finds the endpoints of a cluster that do worse than the others and ejects them
// for a while (gRFC A50, per endpoint as in A61). It has no clock: its owner passes the time and
// applies the result.
package outlier

import (
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// An Endpoint counts the calls of one endpoint.
type Endpoint struct {
	counts

	ejected   bool
	ejectedAt time.Time
	// multiplier counts the ejections. It decreases for intervals without ejection.
	multiplier int

	http *httpCounts // nil for gRPC
}

// counts are the calls of an interval.
type counts struct {
	active  atomic.Pointer[bucket]
	buckets [2]bucket

	// The last interval's calls.
	successes, failures uint64
}

// A bucket has the calls of an interval.
type bucket struct{ successes, failures atomic.Uint64 }

func newEndpoint() *Endpoint {
	e := new(Endpoint)
	e.active.Store(&e.buckets[0])
	return e
}

// Record counts the end of a call. It is safe for concurrent use and does not allocate.
func (c *counts) Record(success bool) {
	if b := c.active.Load(); success {
		b.successes.Add(1)
	} else {
		b.failures.Add(1)
	}
}

// Ejected reports whether the endpoint is ejected.
func (e *Endpoint) Ejected() bool { return e.ejected }

// swap ends an interval.
func (c *counts) swap() {
	last := c.active.Load()
	next := &c.buckets[0]
	if last == next {
		next = &c.buckets[1]
	}
	next.successes.Store(0)
	next.failures.Store(0)
	c.active.Store(next)
	c.successes, c.failures = last.successes.Load(), last.failures.Load()
}

func (c *counts) volume() uint64 { return c.successes + c.failures }

func (c *counts) successRate() float64 { return float64(c.successes) / float64(c.volume()) }

// shortest is the minimal interval, for any configuration.
const shortest = 10 * time.Millisecond

// A Machine examines the endpoints of one cluster at each interval. It is not safe for concurrent
// use, except for [Endpoint.Record].
type Machine struct {
	config    *cluster.OutlierDetection // nil, or one that can eject
	http      cluster.HTTPOutlier       // zero for gRPC
	isHTTP    bool
	endpoints map[string]*Endpoint
	start     time.Time // of the interval
	// chance returns a number from 0 to 99.
	chance func() uint32
	// Detected, unless it is nil, gets each detected outlier: the method, and the reason why the machine
	// does not eject the outlier, or "" (gRFC A91).
	Detected func(method, unenforced string)
}

// New returns a machine without endpoints. chance returns random numbers in [0, 100). Nil uses
// math/rand/v2.
func New(chance func() uint32) *Machine {
	if chance == nil {
		chance = func() uint32 { return rand.Uint32N(100) }
	}
	return &Machine{chance: chance}
}

// Configure replaces the configuration and the endpoints. Each name identifies an endpoint by its
// addresses. A nil config has no algorithm. Without an algorithm the machine has no endpoints and
// ejects none. All endpoints start anew when there is one again.
func (m *Machine) Configure(config *cluster.OutlierDetection, names []string, now time.Time) {
	m.http, m.isHTTP = cluster.HTTPOutlier{}, false
	m.configure(config, names, now)
}

func (m *Machine) configure(config *cluster.OutlierDetection, names []string, now time.Time) {
	if config == nil || config.SuccessRate.Enforcement == 0 && config.FailurePercentage.Enforcement == 0 && !detects(&m.http) {
		m.config, m.endpoints = nil, nil
		return
	}
	if m.config == nil {
		m.start = now
	}
	m.config = config
	last := m.endpoints
	m.endpoints = make(map[string]*Endpoint, len(names))
	for _, name := range names {
		e := last[name]
		if e == nil {
			e = newEndpoint()
		}
		if m.isHTTP {
			e.setHTTP(m.http)
		}
		m.endpoints[name] = e
	}
}

// Endpoint returns the endpoint with a name, or nil.
func (m *Machine) Endpoint(name string) *Endpoint { return m.endpoints[name] }

// Ejected returns the names of the endpoints that are ejected, in no order.
func (m *Machine) Ejected() []string {
	var names []string
	for name, e := range m.endpoints {
		if e.ejected {
			names = append(names, name)
		}
	}
	return names
}

// Next returns the end of the interval, when [Machine.EndInterval] is due. It returns false if there is no
// interval.
func (m *Machine) Next() (time.Time, bool) {
	if m.config == nil {
		return time.Time{}, false
	}
	return m.start.Add(max(m.config.Interval, shortest)), true
}

// EndInterval ends an interval, if it is over. It returns the endpoints that are newly ejected, and those
// whose ejection has ended.
func (m *Machine) EndInterval(now time.Time) (ejected, unejected []*Endpoint) {
	if next, ok := m.Next(); !ok || now.Before(next) {
		return nil, nil
	}
	m.start = now
	// Use a random order, because MaxEjectionPercent may spare the last endpoints.
	order := slices.Collect(maps.Values(m.endpoints))
	before := make(map[*Endpoint]bool)
	for _, e := range order {
		e.swap()
		before[e] = e.ejected
	}
	m.bySuccessRate(order, origin{SuccessRate, m.config.SuccessRate.Enforcement, external}, now)
	m.byFailurePercentage(order, origin{FailurePercentage, m.config.FailurePercentage.Enforcement, external}, now)
	if m.http.Split {
		for _, e := range order {
			e.http.local.swap()
		}
		m.bySuccessRate(order, origin{LocalSuccessRate, m.http.LocalSuccessRate, local}, now)
		m.byFailurePercentage(order, origin{LocalFailurePercentage, m.http.LocalFailurePercentage, local}, now)
	}
	for _, e := range order {
		m.redeem(e, now)
		switch {
		case e.ejected && !before[e]:
			ejected = append(ejected, e)
		case !e.ejected && before[e]:
			unejected = append(unejected, e)
		}
	}
	return ejected, unejected
}

// redeem lowers the multiplier of an endpoint, or ends its ejection after its time.
func (m *Machine) redeem(e *Endpoint, now time.Time) {
	if !e.ejected {
		e.multiplier = max(e.multiplier-1, 0)
		return
	}
	longest := max(m.config.BaseEjectionTime, m.config.MaxEjectionTime)
	d := longest
	// A product that overflows exceeds the longest time.
	if n := time.Duration(e.multiplier); n > 0 && m.config.BaseEjectionTime <= longest/n {
		d = m.config.BaseEjectionTime * n
	}
	if now.After(e.ejectedAt.Add(d)) {
		e.ejected = false
	}
}

// An origin is a kind of calls that the algorithms consider separately.
type origin struct {
	method      string
	enforcement uint32
	counts      func(*Endpoint) *counts
}

// external returns the calls of all origins, or those that have a response if the configuration splits them.
func external(e *Endpoint) *counts { return &e.counts }

// bySuccessRate ejects the endpoints whose success rate is far below the others' (A50).
func (m *Machine) bySuccessRate(order []*Endpoint, o origin, now time.Time) {
	c := m.config.SuccessRate
	if o.enforcement == 0 {
		return
	}
	candidates := o.withVolume(order, c.RequestVolume)
	if len(candidates) == 0 || len(candidates) < int(c.MinimumHosts) {
		return
	}
	mean, stdev := o.spreadOf(candidates)
	required := mean - stdev*float64(c.StdevFactor)/1000
	for _, e := range candidates {
		if o.counts(e).successRate() < required {
			m.eject(e, o.method, o.enforcement, now)
		}
	}
}

// byFailurePercentage ejects the endpoints that fail too often, independent of the others (A50).
func (m *Machine) byFailurePercentage(order []*Endpoint, o origin, now time.Time) {
	c := m.config.FailurePercentage
	if o.enforcement == 0 {
		return
	}
	candidates := o.withVolume(order, c.RequestVolume)
	if len(candidates) < int(c.MinimumHosts) {
		return
	}
	for _, e := range candidates {
		if n := o.counts(e); exceeds(n.failures, n.volume(), c.Threshold) {
			m.eject(e, o.method, o.enforcement, now)
		}
	}
}

// exceeds reports whether a part of all is more than a percentage. Numbers that are not whole would round a part of exactly the percentage.
func exceeds(part, all uint64, percentage uint32) bool {
	hi, lo := bits.Mul64(part, 100)
	most, least := bits.Mul64(all, uint64(percentage))
	return hi > most || hi == most && lo > least
}

// withVolume returns the endpoints with enough calls. An endpoint without calls has no success
// rate, so it is never among them.
func (o origin) withVolume(order []*Endpoint, volume uint32) []*Endpoint {
	var out []*Endpoint
	for _, e := range order {
		if o.counts(e).volume() >= max(uint64(volume), 1) {
			out = append(out, e)
		}
	}
	return out
}

// spreadOf returns the mean and the standard deviation of success rates. The mean is summed from the differences to one rate, so that
// equal rates are exactly the mean: rounding must not eject them.
func (o origin) spreadOf(endpoints []*Endpoint) (mean, stdev float64) {
	n := float64(len(endpoints))
	first := o.counts(endpoints[0]).successRate()
	for _, e := range endpoints {
		mean += (o.counts(e).successRate() - first) / n
	}
	mean += first
	var variance float64
	for _, e := range endpoints {
		d := o.counts(e).successRate() - mean
		variance += d * d / n
	}
	return mean, math.Sqrt(variance)
}

// full reports whether no further endpoint may be ejected.
func (m *Machine) full() bool {
	ejected := 0
	for _, e := range m.endpoints {
		if e.ejected {
			ejected++
		}
	}
	return ejected*100 >= int(m.config.MaxEjectionPercent)*len(m.endpoints)
}

// The methods that detect outliers, and the reasons not to eject one (gRFC A91).
const (
	SuccessRate           = "success_rate"
	FailurePercentage     = "failure_percentage"
	EnforcementPercentage = "enforcement_percentage"
	MaxEjectionOverflow   = "max_ejection_overflow"
)

// eject ejects an endpoint with a probability of enforcement percent, unless too many are ejected. If calls in flight fail on an
// ejected endpoint, the ejection lasts longer.
func (m *Machine) eject(e *Endpoint, method string, enforcement uint32, now time.Time) {
	reason := ""
	switch {
	case m.full():
		reason = MaxEjectionOverflow
	case m.chance() >= enforcement:
		reason = EnforcementPercentage
	}
	if m.Detected != nil {
		m.Detected(method, reason)
	}
	if reason != "" {
		return
	}
	e.ejected, e.ejectedAt = true, now
	e.multiplier++
}
