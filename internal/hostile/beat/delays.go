package beat

import (
	"strconv"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// Delays watches a cluster whose EDS service name is the time at which it was sent.
type Delays struct {
	mu      sync.Mutex
	count   int
	longest time.Duration
	last    time.Time
}

// Notify takes an event.
func (d *Delays) Notify(ev cluster.Event) {
	if ev.Err != nil || !ev.Changed {
		return
	}
	eds, ok := ev.Update.Discovery.(cluster.EDS)
	if !ok {
		return
	}
	sent, err := strconv.ParseInt(eds.ServiceName, 10, 64)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	d.last = time.Unix(0, sent)
	d.longest = max(d.longest, time.Since(d.last))
}

// Restart forgets the delays so far.
func (d *Delays) Restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count, d.longest, d.last = 0, 0, time.Now()
}

// Read returns the number of updates, and the longest delay of one or of the one to come.
func (d *Delays) Read() (count int, longest time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count, max(d.longest, time.Since(d.last)-Every)
}
