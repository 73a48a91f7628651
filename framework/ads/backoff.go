package ads

import "time"

// Backoff is the pause between streams, as gRPC's connection backoff has it
// (gRFC A57).
type Backoff struct {
	Base   time.Duration // after the first failure, and after a stream that brought a response
	Factor float64       // growth per failure
	Jitter float64       // share by which a pause is longer or shorter at random
	Max    time.Duration
}

// DefaultBackoff is 1 s, growing 1.6-fold to at most 120 s, give or take 20 %.
var DefaultBackoff = Backoff{Base: time.Second, Factor: 1.6, Jitter: 0.2, Max: 120 * time.Second}

// delay is the pause after the given number of failures in a row.
func (b Backoff) delay(failures int, random func() float64) time.Duration {
	d := float64(b.Base)
	for i := 1; i < failures && d < float64(b.Max); i++ {
		d *= b.Factor
	}
	d = min(d, float64(b.Max))
	d *= 1 + b.Jitter*(2*random()-1)
	return min(time.Duration(d), b.Max)
}
