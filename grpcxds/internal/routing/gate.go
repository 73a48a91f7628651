package routing

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// A gate keeps the retries of this package and those of gRPC apart, so that a change between them never multiplies the
// attempts of a call. gRPC reads its retry policy when it begins an attempt of this package. So an attempt enters the gate
// before it begins, and leaves when load balancing sees it or when it ends. The zero value is open.
type gate struct {
	mu       sync.Mutex
	native   bool          // gRPC retries calls
	entering int           // attempts in the gate
	empty    chan struct{} // closed when no attempt is in the gate; nil: nobody waits
}

// enter lets an attempt begin. It returns false if gRPC retries calls. Otherwise the attempt must leave.
func (g *gate) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.native {
		return false
	}
	g.entering++
	return true
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entering--
	if g.entering == 0 && g.empty != nil {
		close(g.empty)
		g.empty = nil
	}
}

// close ends the retries of this package, and waits until the gate is empty. It returns false, and opens the gate again,
// if that takes longer than the limit. It must not be called concurrently.
func (g *gate) close(limit time.Duration) bool {
	g.mu.Lock()
	g.native = true
	if g.entering == 0 {
		g.mu.Unlock()
		return true
	}
	empty := make(chan struct{})
	g.empty = empty
	g.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-empty:
		return true
	case <-timer.C:
	}
	g.open()
	return false
}

// open lets this package retry calls.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.native, g.empty = false, nil
}

// maxGate is the limit of the time in which attempts leave the gate. They only wait there while the channel is idle.
const maxGate = time.Second

// RetryNatively makes gRPC retry the calls of a table that is not set yet, if all of its routes have the same retry policy. It
// returns that policy as a method config of gRPC's service config. Set the service config, and then the table. An empty
// result means that this package retries, or that there are no retries.
func (c *Interceptors) RetryNatively(t *Table) (methodConfig string) {
	if t.retry == nil || c.noRetry || !c.gate.close(maxGate) {
		return ""
	}
	t.native = true
	return t.retry.methodConfig()
}

// RetryHere makes this package retry calls. The channel must have a service config without a retry policy.
func (c *Interceptors) RetryHere() { c.gate.open() }

// methodConfig returns the policy for all methods as a method config of gRPC's service config.
func (r *retry) methodConfig() string {
	var codes []string
	for c := range 64 {
		if r.codes>>c&1 == 1 {
			codes = append(codes, strconv.Itoa(c))
		}
	}
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 9, 64) + "s" }
	return `{"name":[{}],"retryPolicy":{"maxAttempts":` + strconv.Itoa(int(r.max)+1) +
		`,"initialBackoff":"` + seconds(r.pause.Base) + `","maxBackoff":"` + seconds(r.pause.Max) +
		`","backoffMultiplier":2,"retryableStatusCodes":[` + strings.Join(codes, ",") + `]}}`
}
