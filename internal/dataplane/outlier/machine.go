package outlier

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// shortest is the minimal interval, for any configuration.
const shortest = 10 * time.Millisecond

// A Machine examines the endpoints of one cluster at each interval. It is not safe for concurrent
// use, except for [Endpoint.Record].
type Machine struct {
	config    *cluster.OutlierDetection // nil, or one that can eject
	endpoints map[string]*Endpoint
	start     time.Time // of the interval
	// chance returns a number from 0 to 99.
	chance func() uint32
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
	if config == nil || config.SuccessRate.Enforcement == 0 && config.FailurePercentage.Enforcement == 0 {
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
		m.endpoints[name] = e
	}
}

// Endpoint returns the endpoint with a name, or nil.
func (m *Machine) Endpoint(name string) *Endpoint { return m.endpoints[name] }

// Next returns the end of the interval, when [Machine.Turn] is due. It returns false if there is no
// interval.
func (m *Machine) Next() (time.Time, bool) {
	if m.config == nil {
		return time.Time{}, false
	}
	return m.start.Add(max(m.config.Interval, shortest)), true
}

// Turn ends an interval, if it is over. It returns the endpoints that are newly ejected, and those
// whose ejection has ended.
func (m *Machine) Turn(now time.Time) (ejected, unejected []*Endpoint) {
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
	m.bySuccessRate(order, now)
	m.byFailurePercentage(order, now)
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
