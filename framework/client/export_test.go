package client

import "time"

// The tests outside the package use these.
const (
	DefaultWatcherBudget = defaultWatcherBudget
	UserAgent            = userAgent
)

// SetIdleTime sets how long a pool keeps a connection that nobody uses.
func SetIdleTime(p *Pool, d time.Duration) { p.idle = d }

// Drain waits until the loop has handled all events that were posted before.
func (c *Client) Drain() {
	done := make(chan struct{})
	c.loop.post(func() { close(done) })
	<-done
}

// CountWakes makes the client count how often it wakes a goroutine for the loop. The loop must have none.
func (c *Client) CountWakes() (wakes *int) {
	wakes, run := new(int), c.loop.runs
	c.loop.runs = func() {
		*wakes++
		run()
	}
	return wakes
}
