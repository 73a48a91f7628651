package outlier

import (
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// shortest is the least time between two looks, whatever a control plane says.
const shortest = 10 * time.Millisecond

// A Machine looks at the endpoints of one cluster from time to time. It is not safe for
// concurrent use, but for [Endpoint.Record].
type Machine struct {
	config    *cluster.OutlierDetection // nil, or one that can eject
	endpoints map[string]*Endpoint
	start     time.Time // of the interval
	// chance returns a number from 0 to 99.
	chance func() uint32
}

// New returns a machine without endpoints. chance returns random numbers in [0, 100); nil
// is for those of math/rand/v2.
func New(chance func() uint32) *Machine {
	if chance == nil {
		chance = func() uint32 { return rand.Uint32N(100) }
	}
	return &Machine{chance: chance}
}

// Configure replaces the configuration, nil for none, and the endpoints, which are known by
// names that their addresses make. Without an algorithm there are no endpoints: none is
// ejected, and when there is one again, all begin anew.
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

// Endpoint returns the endpoint of a name; nil: there is none.
func (m *Machine) Endpoint(name string) *Endpoint { return m.endpoints[name] }

// Next is when the interval ends, and [Machine.Turn] is due; false: never.
func (m *Machine) Next() (time.Time, bool) {
	if m.config == nil {
		return time.Time{}, false
	}
	return m.start.Add(max(m.config.Interval, shortest)), true
}

// Turn ends an interval, if it is over. It returns the endpoints that are ejected now and
// were not before, and the other way round.
func (m *Machine) Turn(now time.Time) (ejected, unejected []*Endpoint) {
	if next, ok := m.Next(); !ok || now.Before(next) {
		return nil, nil
	}
	m.start = now
	// In an order that chance decides, as MaxEjectionPercent may keep the last from being ejected.
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

// redeem makes good of the time that has passed.
func (m *Machine) redeem(e *Endpoint, now time.Time) {
	if !e.ejected {
		e.multiplier = max(e.multiplier-1, 0)
		return
	}
	longest := max(m.config.BaseEjectionTime, m.config.MaxEjectionTime)
	d := longest
	// What would overflow is longer than the longest.
	if n := time.Duration(e.multiplier); n > 0 && m.config.BaseEjectionTime <= longest/n {
		d = m.config.BaseEjectionTime * n
	}
	if now.After(e.ejectedAt.Add(d)) {
		e.ejected = false
	}
}
