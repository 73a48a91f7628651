package ads

import (
	"math/rand/v2"
	"time"
)

// A Protocol is a variant of the xDS transport protocol, or the choice of one.
type Protocol int

const (
	// StateOfTheWorld is the variant that every control plane supports.
	StateOfTheWorld Protocol = iota
	// Delta is the incremental variant.
	Delta
	// Auto is Delta until the server turns out not to support it: it says so, or leaves the first
	// stream without any response. From then on it is StateOfTheWorld.
	Auto
)

// A Config sets a machine's times. The zero value of a field means its default.
type Config struct {
	// Backoff is the pause between streams.
	Backoff Backoff
	// PausePerName is how long new names wait after a request, for each name in it. 10 µs by
	// default: a few watches notice nothing, and after 10,000 names the pause is 100 ms.
	PausePerName time.Duration
	// Settle is how long a stream without a response must be up before the control plane counts as
	// reachable. 1 s by default. If streams were up for longer and ended without a response, it is
	// twice as long as the longest of them, up to 30 s, until there is a response.
	Settle time.Duration
	// Linger is how long a stream without subscriptions is kept. 1 min by default. [Release] ends a
	// stream without it.
	Linger time.Duration
	// Protocol is the variant of the xDS transport protocol.
	Protocol Protocol
	// Silence is how long, under [Auto], a server may leave a delta stream without any response
	// before the machine changes to state of the world. 5 s by default.
	Silence time.Duration
	// Replay is the time for a server that resends resources although it was told their versions.
	// Resources that are missing after that time are stale. 15 s by default.
	Replay time.Duration
	// Repeat is the pause between requests for a name that the server does not answer, after the
	// first of them, which [Repeat] requests. [DefaultRepeat] by default.
	Repeat Backoff
	// Rejected is the pause before the NACK of content that was rejected before and was resent at
	// once. [DefaultRejected] by default.
	Rejected Backoff
	// Random returns numbers in [0, 1) for jitter; math/rand/v2 by default.
	Random func() float64
}

func (c Config) withDefaults() Config {
	if c.Backoff == (Backoff{}) {
		c.Backoff = DefaultBackoff
	}
	c.Backoff = c.Backoff.withDefaults()
	if c.Repeat == (Backoff{}) {
		c.Repeat = DefaultRepeat
	}
	c.Repeat = c.Repeat.withDefaults()
	if c.Rejected == (Backoff{}) {
		c.Rejected = DefaultRejected
	}
	c.Rejected = c.Rejected.withDefaults()
	if c.PausePerName == 0 {
		c.PausePerName = 10 * time.Microsecond
	}
	if c.Settle == 0 {
		c.Settle = time.Second
	}
	if c.Linger == 0 {
		c.Linger = time.Minute
	}
	if c.Silence == 0 {
		c.Silence = 5 * time.Second
	}
	if c.Replay == 0 {
		c.Replay = 15 * time.Second
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
	return c
}
