package breaker_test

import (
	"testing"

	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
)

// TestCircuit takes units of one resource up to its limit, with another client of the cluster.
func TestCircuit(t *testing.T) {
	var s breaker.Set
	counter := s.Acquire("a", "x")
	var first, second breaker.Circuit
	var limits breaker.Limits
	limits.Most = [...]uint32{breaker.Connections: 2, breaker.Pending: 1, breaker.Retries: 3}
	first.Set(counter, limits)
	second.Set(counter, limits)
	use := func(c *breaker.Circuit, r breaker.Resource, used, most int64, refused uint64) {
		t.Helper()
		if u, m, n := c.Use(r); u != used || m != most || n != refused {
			t.Errorf("%v: %d of %d used, %d refused; want %d of %d, %d", r, u, m, n, used, most, refused)
		}
	}
	one, ok := first.Take(breaker.Connections)
	if _, again := second.Take(breaker.Connections); !ok || !again {
		t.Error("a unit below the limit is refused")
	}
	if _, ok := first.Take(breaker.Connections); ok {
		t.Error("a unit above the limit is given")
	}
	use(&first, breaker.Connections, 2, 2, 1)
	use(&second, breaker.Connections, 2, 2, 0)
	use(&first, breaker.Pending, 0, 1, 0)
	one.Release()
	use(&first, breaker.Connections, 1, 2, 1)
	first.Force(breaker.Pending)
	forced := first.Force(breaker.Pending)
	use(&second, breaker.Pending, 2, 1, 0)
	forced.Release()
	use(&first, breaker.Pending, 1, 1, 0)
	if _, ok := first.Take(breaker.Pending); ok {
		t.Error("a unit above the limit is given; forced ones count")
	}
	breaker.Unit{}.Release()
}

// TestRetryBudget expects the limit of retries to follow the calls in flight and those that wait.
func TestRetryBudget(t *testing.T) {
	var s breaker.Set
	counter := s.Acquire("a", "x")
	var c breaker.Circuit
	limits := breaker.Limits{Budget: 25, HasBudget: true}
	limits.Most = [...]uint32{breaker.Connections: 1, breaker.Pending: 1, breaker.Retries: 3}
	c.Set(counter, limits)
	most := func(r breaker.Resource, want int64) {
		t.Helper()
		if _, got, _ := c.Use(r); got != want {
			t.Errorf("the limit of %v with %d calls in flight is %d, want %d", r, counter.InFlight(), got, want)
		}
	}
	most(breaker.Retries, 3)
	for range 15 {
		counter.Start(100)
	}
	most(breaker.Retries, 3)
	c.Force(breaker.Pending)
	most(breaker.Retries, 4)
	most(breaker.Connections, 1)
	for range 84 {
		counter.Start(100)
	}
	for _, budget := range []float64{25, 29, 57, 58, 100} { // of 100 calls; some are not exact as parts of 1
		limits.Budget = budget
		c.Set(counter, limits)
		most(breaker.Retries, int64(budget))
	}
	limits.HasBudget = false
	c.Set(counter, limits)
	most(breaker.Retries, 3)
}

// TestNoLimits uses a circuit before its cluster is known, and none at all.
func TestNoLimits(t *testing.T) {
	for _, c := range []*breaker.Circuit{nil, new(breaker.Circuit)} {
		u, ok := c.Take(breaker.Retries)
		if used, most, refused := c.Use(breaker.Retries); !ok || used != 0 || most != 0 || refused != 0 {
			t.Errorf("without limits, a unit is given: %t; %d of %d used, %d refused", ok, used, most, refused)
		}
		u.Release()
		c.Force(breaker.Pending).Release()
		if n := c.PerConnection(); n != 0 {
			t.Errorf("without limits, there may be %d requests on a connection, want 0 for no limit", n)
		}
	}
	var c breaker.Circuit
	c.Set(new(breaker.Set).Acquire("a", ""), breaker.Limits{PerConnection: 7})
	if n := c.PerConnection(); n != 7 {
		t.Errorf("there may be %d requests on a connection, want 7", n)
	}
	for r, want := range map[breaker.Resource]string{breaker.Connections: "connections", breaker.Pending: "pending requests", breaker.Retries: "retries"} {
		if r.String() != want {
			t.Errorf("the name of a resource is %q, want %q", r, want)
		}
	}
}
