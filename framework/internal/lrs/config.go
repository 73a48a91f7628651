package lrs

import (
	"math/rand/v2"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
)

// A Config sets a machine's times. The zero value of a field means its default.
type Config struct {
	// Backoff is the pause between streams: that of ADS (gRFC A57).
	Backoff ads.Backoff
	// MinInterval and MaxInterval limit the time between reports that servers may ask for: 1 s and
	// 1 h by default. With a shorter one, a server could keep its clients busy. A longer one is
	// probably a mistake.
	MinInterval, MaxInterval time.Duration
	// Unimplemented is the pause, give or take a tenth, after a server has reported that it does
	// not accept load reports. 1 h by default.
	Unimplemented time.Duration
	// Linger is how long a stream is kept without anything to report: ending it at once could
	// overtake the last report. 1 min by default.
	Linger time.Duration
	// Random returns numbers in [0, 1) for jitter; math/rand/v2 by default.
	Random func() float64
}

func (c Config) withDefaults() Config {
	if c.Backoff == (ads.Backoff{}) {
		c.Backoff = ads.DefaultBackoff
	}
	if c.MinInterval <= 0 {
		c.MinInterval = time.Second
	}
	if c.MaxInterval <= 0 {
		c.MaxInterval = time.Hour
	}
	c.MaxInterval = max(c.MinInterval, c.MaxInterval)
	if c.Unimplemented <= 0 {
		c.Unimplemented = time.Hour
	}
	if c.Linger <= 0 {
		c.Linger = time.Minute
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return c
}
