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
	// default: a few watches notice nothing, and after 10,000 names the pause is 100 ms. In state
	// of the world, a response shortens or ends the pause (ADR 165).
	PausePerName time.Duration
	// StabilityPeriod is how long a stream without a response must be up before the control plane counts as
	// reachable. 1 s by default. If streams were up for longer and ended without a response, it is
	// twice as long as the longest of them, up to 30 s, until there is a response.
	StabilityPeriod time.Duration
	// Linger is how long a stream without subscriptions is kept. 1 min by default. [Release] ends a
	// stream without it.
	Linger time.Duration
	// Protocol is the variant of the xDS transport protocol.
	Protocol Protocol
	// Silence is how long, under [Auto], a server may leave a delta stream without any response
	// before the machine changes to state of the world. 5 s by default.
	Silence time.Duration
	// Replay is the time for a server that resends resources although it knows their versions.
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
	if c.StabilityPeriod == 0 {
		c.StabilityPeriod = time.Second
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

// Backoff is the pause between streams, like gRPC's connection backoff (gRFC A57). A Base or Max
// that is not positive, and a Factor below 1, have the value of [DefaultBackoff].
type Backoff struct {
	Base   time.Duration // after the first failure, and after a stream with a response
	Factor float64       // growth per failure
	Jitter float64       // share by which a pause is longer or shorter at random; 0 to 1
	Max    time.Duration
}

// DefaultBackoff is 1 s, growing 1.6-fold to at most 120 s, give or take 20 %.
var DefaultBackoff = Backoff{Base: time.Second, Factor: 1.6, Jitter: 0.2, Max: 120 * time.Second}

// DefaultRepeat is 15 s, doubling to at most 5 min, give or take 10 %.
var DefaultRepeat = Backoff{Base: 15 * time.Second, Factor: 2, Jitter: 0.1, Max: 5 * time.Minute}

// DefaultRejected is 100 ms, doubling to at most 30 s.
var DefaultRejected = Backoff{Base: 100 * time.Millisecond, Factor: 2, Max: 30 * time.Second}

func (b Backoff) withDefaults() Backoff {
	if b.Base <= 0 {
		b.Base = DefaultBackoff.Base
	}
	if b.Factor < 1 {
		b.Factor = DefaultBackoff.Factor
	}
	if b.Max <= 0 {
		b.Max = max(b.Base, DefaultBackoff.Max)
	}
	b.Jitter = min(max(b.Jitter, 0), 1)
	return b
}

// Delay returns the pause after the given number of failures in a row. The random numbers for the
// jitter are in [0, 1). It is for streams other than ADS that use the same backoff.
func (b Backoff) Delay(failures int, random func() float64) time.Duration {
	return b.withDefaults().delay(failures, random)
}

// delay returns the pause after the given number of failures in a row.
func (b Backoff) delay(failures int, random func() float64) time.Duration {
	d := float64(b.Base)
	for i := 1; i < failures && d < float64(b.Max); i++ {
		d *= b.Factor
	}
	d = min(d, float64(b.Max))
	d *= 1 + b.Jitter*(2*random()-1)
	return min(time.Duration(d), b.Max)
}
