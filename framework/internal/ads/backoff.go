package ads

import "time"

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
