package ads

import (
	"slices"
	"time"
)

// Some servers send a rejected response again as soon as they read its NACK. With an
// answer at once, client and server would exchange the same bytes hundreds of times a
// second. So the machine remembers the content that it rejected, and lets a pause pass
// before it rejects the same content again.
const (
	// maxRejections is how many rejected contents of a type are remembered. Content
	// that alternates between some bad and good states is recognised that way.
	maxRejections = 8
	// atOnce is how soon after its NACK content must come again to be a repetition.
	// A server that takes longer does no harm.
	atOnce = time.Second
	// quietFor is how long repetitions are not logged after a line about the content.
	quietFor = time.Minute
)

// rejections are the contents of a type that were rejected, the newest last.
type rejections struct {
	backoff Backoff
	random  func() float64
	list    []rejection
}

type rejection struct {
	digest  uint64
	repeats int       // NACKs of the same content before, each followed by it at once
	until   time.Time // before then no NACK leaves; zero: at once
	sent    time.Time // when the last NACK left; zero while one waits
	logged  time.Time // when one was last to be logged
}

func newRejections(c *Config) rejections { return rejections{backoff: c.Rejected, random: c.Random} }

// met notes that content is rejected, and returns when its NACK may leave and how often
// it was rejected before in this run.
func (r *rejections) met(digest uint64, now time.Time) (until time.Time, repeats int) {
	i := slices.IndexFunc(r.list, func(e rejection) bool { return e.digest == digest })
	if i < 0 {
		if len(r.list) == maxRejections {
			r.list = slices.Delete(r.list, 0, 1)
		}
		r.list = append(r.list, rejection{digest: digest})
		return time.Time{}, 0
	}
	e := r.list[i]
	switch waits := e.sent.IsZero(); {
	case waits && now.Before(e.until):
	case waits || now.Sub(e.sent) <= atOnce:
		e.repeats++
		e.until = now.Add(r.backoff.delay(e.repeats, r.random))
	default:
		e.repeats, e.until = 0, time.Time{}
	}
	e.sent = time.Time{}
	r.list = append(slices.Delete(r.list, i, i+1), e)
	return e.until, e.repeats
}

// answered notes that the NACK of a content leaves, and reports whether it is a repetition
// of which the log has a line already.
func (r *rejections) answered(digest uint64, now time.Time) (quiet bool) {
	for i := range r.list {
		e := &r.list[i]
		if e.digest != digest {
			continue
		}
		e.sent = now
		if quiet = e.repeats > 0 && now.Sub(e.logged) < quietFor; !quiet {
			e.logged = now
		}
	}
	return quiet
}
