package breaker

import "sync/atomic"

// A Resource is a kind of thing that HTTP clients limit, beside calls in flight.
type Resource uint8

// The resources.
const (
	Connections Resource = iota // to all endpoints
	Pending                     // requests that wait for a connection
	Retries                     // in flight
	resources
)

// String returns the name of the resource.
func (r Resource) String() string {
	return [...]string{"connections", "pending requests", "retries"}[r]
}

// Limits are the limits of a cluster.
type Limits struct {
	Most [resources]uint32
	// Budget is the limit of retries in percent of the calls in flight and of those that wait, but at least
	// Most[Retries], if HasBudget.
	Budget    float64
	HasBudget bool
	// PerConnection is the limit of requests on one connection. 0: none.
	PerConnection uint32
}

// A Circuit has the limits of a cluster of one HTTP client. It counts by the counter that the clients of the cluster share.
// It is safe for concurrent use. A nil Circuit has no limits.
type Circuit struct {
	state   atomic.Pointer[state]
	refused [resources]atomic.Uint64
}

type state struct {
	counter *Counter
	limits  Limits
}

// Set replaces the counter and the limits.
func (c *Circuit) Set(counter *Counter, l Limits) { c.state.Store(&state{counter, l}) }

// A Unit is one counted resource. The zero value counts nothing.
type Unit struct {
	counter  *Counter
	resource Resource
}

// Take counts one unit of a resource. It returns false if the limit is reached.
func (c *Circuit) Take(r Resource) (Unit, bool) {
	s := c.load()
	if s == nil {
		return Unit{}, true
	}
	n := &s.counter.others[r]
	if n.Add(1) > s.most(r) {
		n.Add(-1)
		c.refused[r].Add(1)
		return Unit{}, false
	}
	return Unit{s.counter, r}, true
}

// Force counts one unit of a resource, whatever the limit is.
func (c *Circuit) Force(r Resource) Unit {
	s := c.load()
	if s == nil {
		return Unit{}
	}
	s.counter.others[r].Add(1)
	return Unit{s.counter, r}
}

// Release ends the use of a unit. Call it once.
func (u Unit) Release() {
	if u.counter != nil {
		u.counter.others[u.resource].Add(-1)
	}
}

// PerConnection returns the limit of requests on one connection. 0: none.
func (c *Circuit) PerConnection() int64 {
	if s := c.load(); s != nil {
		return int64(s.limits.PerConnection)
	}
	return 0
}

// Use returns the number of units in use by all clients of the cluster, their limit, and the number of those that this client
// was refused.
func (c *Circuit) Use(r Resource) (used, most int64, refused uint64) {
	s := c.load()
	if s == nil {
		return 0, 0, 0
	}
	return s.counter.others[r].Load(), s.most(r), c.refused[r].Load()
}

func (c *Circuit) load() *state {
	if c == nil {
		return nil
	}
	return c.state.Load()
}

// most returns the limit of a resource.
func (s *state) most(r Resource) int64 {
	most := int64(s.limits.Most[r])
	if r == Retries && s.limits.HasBudget {
		active := s.counter.InFlight() + s.counter.others[Pending].Load()
		return max(most, int64(s.limits.Budget*float64(active)/100))
	}
	return most
}
