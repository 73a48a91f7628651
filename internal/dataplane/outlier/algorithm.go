package outlier

import (
	"math"
	"time"
)

// bySuccessRate ejects the endpoints whose success rate is far below the others' (A50).
func (m *Machine) bySuccessRate(order []*Endpoint, now time.Time) {
	c := m.config.SuccessRate
	if c.Enforcement == 0 {
		return
	}
	candidates := withVolume(order, c.RequestVolume)
	if len(candidates) == 0 || len(candidates) < int(c.MinimumHosts) {
		return
	}
	mean, stdev := spreadOf(candidates)
	required := mean - stdev*float64(c.StdevFactor)/1000
	for _, e := range candidates {
		if m.full() {
			return
		}
		if e.successRate() < required {
			m.eject(e, c.Enforcement, now)
		}
	}
}

// byFailurePercentage ejects the endpoints that fail too often, independent of the others (A50).
func (m *Machine) byFailurePercentage(order []*Endpoint, now time.Time) {
	c := m.config.FailurePercentage
	if c.Enforcement == 0 {
		return
	}
	candidates := withVolume(order, c.RequestVolume)
	if len(candidates) < int(c.MinimumHosts) {
		return
	}
	for _, e := range candidates {
		if m.full() {
			return
		}
		if (1-e.successRate())*100 > float64(c.Threshold) {
			m.eject(e, c.Enforcement, now)
		}
	}
}

// withVolume returns the endpoints with enough calls. An endpoint without calls has no success
// rate, so it is never among them.
func withVolume(order []*Endpoint, volume uint32) []*Endpoint {
	var out []*Endpoint
	for _, e := range order {
		if e.volume() >= max(uint64(volume), 1) {
			out = append(out, e)
		}
	}
	return out
}

// spreadOf returns the mean and the standard deviation of success rates.
func spreadOf(endpoints []*Endpoint) (mean, stdev float64) {
	n := float64(len(endpoints))
	for _, e := range endpoints {
		mean += e.successRate() / n
	}
	var variance float64
	for _, e := range endpoints {
		d := e.successRate() - mean
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

// eject ejects an endpoint with a probability of enforcement percent. If calls in flight fail on an
// ejected endpoint, the ejection lasts longer.
func (m *Machine) eject(e *Endpoint, enforcement uint32, now time.Time) {
	if m.chance() >= enforcement {
		return
	}
	e.ejected, e.ejectedAt = true, now
	e.multiplier++
}
