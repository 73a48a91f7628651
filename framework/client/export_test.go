package client

import "time"

// The tests outside the package use these.
const (
	DefaultWatcherBudget = defaultWatcherBudget
	UserAgent            = userAgent
)

// SetIdleTime sets how long a pool keeps a connection that nobody uses.
func SetIdleTime(p *Pool, d time.Duration) { p.idle = d }
