package ads

import (
	"slices"
	"time"
)

// overdue are the names of one type that the server has left unanswered for half of the
// resource timer (gRFC A57). A server may have lost such a name: some drop a whole request
// that carries an error, or whose nonce is no longer the newest. The machine asks for the
// name once more at once, and then with back-off for as long as it is wanted.
type overdue struct {
	backoff Backoff
	random  func() float64

	names map[string]struct{}
	due   map[string]struct{} // of names, those for the next request
	last  time.Time           // the last request that repeated a name; zero: none on this stream
	at    time.Time           // when all names are due again; zero while there are none
	steps int
}

func newOverdue(c *Config) overdue {
	return overdue{
		backoff: c.Repeat, random: c.Random,
		names: make(map[string]struct{}), due: make(map[string]struct{}),
	}
}

// add records that a name is overdue. It is due at once unless repeated is true: a request has
// repeated it in the meantime.
func (o *overdue) add(name string, now time.Time, repeated bool) {
	o.names[name] = struct{}{}
	if !repeated {
		o.due[name] = struct{}{}
	}
	if at := now.Add(o.backoff.delay(1, o.random)); o.at.IsZero() || at.Before(o.at) {
		o.at = at
	}
}

// forget records that the server has answered a name, or that nobody wants it any longer.
func (o *overdue) forget(name string) {
	if len(o.names) == 0 {
		return
	}
	delete(o.names, name)
	delete(o.due, name)
	if len(o.names) == 0 {
		o.at, o.steps = time.Time{}, 0
	}
}

// ready reports whether names are to be repeated now.
func (o *overdue) ready(now time.Time) bool {
	return len(o.due) > 0 || !o.at.IsZero() && !now.Before(o.at)
}

// take makes every name due if it is time for that.
func (o *overdue) take(now time.Time) {
	if o.at.IsZero() || now.Before(o.at) {
		return
	}
	for name := range o.names {
		o.due[name] = struct{}{}
	}
	o.steps++
	o.at = now.Add(o.backoff.delay(o.steps+1, o.random))
}

// repeated records that a request contains the due names, and returns their number.
func (o *overdue) repeated(now time.Time) int {
	n := len(o.due)
	if n > 0 {
		o.last = now
		clear(o.due)
	}
	return n
}

// reset forgets the names: the next stream subscribes to every name again.
func (o *overdue) reset() {
	o.names, o.due = make(map[string]struct{}), make(map[string]struct{})
	o.last, o.at, o.steps = time.Time{}, time.Time{}, 0
}

// Some servers resend a rejected response as soon as they read its NACK. If the client
// answered at once, both would exchange the same bytes hundreds of times a second. So the
// machine remembers the content that it rejected, and waits before it rejects the same
// content again.
const (
	// maxRuns is the limit of remembered runs of rejections of a type, and maxContents the limit of
	// contents of each. They are more than one, to recognise content that alternates between some
	// bad and good states.
	maxRuns     = 8
	maxContents = 8
	// maxBad is the limit of remembered rejected resources of a run.
	maxBad = 256
	// maxSpared is the limit of other contents of a run that are answered at once.
	maxSpared = 4
	// atOnce is the longest time after its NACK in which resent content is a repetition.
	// A server that takes longer does no harm.
	atOnce = time.Second
	// quietFor is how long a run without new rejected resources is not logged after a
	// line about it.
	quietFor = time.Minute
)

// rejections are the runs of rejections of a type, the newest last.
type rejections struct {
	backoff Backoff
	random  func() float64
	runs    []*run
}

// A run is a series of responses that share rejected resources, each with the one before.
// Pauses grow as long as the next response arrives at once after a NACK.
type run struct {
	bad      map[uint64]struct{} // the rejected resources
	contents []uint64            // by Response.Digest, the newest last
	until    time.Time           // the NACK of the newest content waits until then
	sent     time.Time           // when the last NACK left; zero while one waits
	repeats  int                 // of contents
	spared   int                 // contents that were answered at once because they differed
	early    bool                // the last NACK left before its time

	logged   time.Time // when the last line was logged; zero: never
	unlogged bool      // a rejected resource was not in that line
}

func newRejections(c *Config) rejections { return rejections{backoff: c.Rejected, random: c.Random} }

// reject records that content is rejected, and returns its run. The NACK may be sent at until.
func (r *rejections) reject(resp *Response, now time.Time) (current *run) {
	// If the response belongs to several runs, the newest gets it each time. Its pause then grows.
	i := len(r.runs) - 1
	for i >= 0 && !r.runs[i].shares(resp) {
		i--
	}
	if i < 0 {
		u := &run{bad: make(map[uint64]struct{})}
		u.take(resp)
		if len(r.runs) == maxRuns {
			r.runs = slices.Delete(r.runs, 0, 1)
		}
		r.runs = append(r.runs, u)
		return u
	}
	u := r.runs[i]
	r.runs = append(slices.Delete(r.runs, i, i+1), u)
	if !u.sent.IsZero() && now.Sub(u.sent) > atOnce {
		u.contents, u.until, u.repeats, u.spared, u.early = nil, time.Time{}, 0, 0, false
	}
	waits := u.sent.IsZero() && now.Before(u.until) // so the server has not sent the response because of a NACK
	again := slices.Contains(u.contents, resp.Digest)
	u.take(resp)
	switch {
	case len(u.contents) == 1 && !again:
	case !again && u.spared < maxSpared:
		u.spared++
		u.until = time.Time{}
	case waits: // no content prolongs the pause
	default:
		if !u.early || u.repeats == 0 {
			u.repeats++
		}
		u.until = now.Add(r.backoff.delay(u.repeats, r.random))
	}
	u.sent, u.early = time.Time{}, false
	return u
}

// shares reports whether a response has rejected resources of the run.
func (u *run) shares(resp *Response) bool {
	return slices.ContainsFunc(resp.Bad, func(b uint64) bool {
		_, ok := u.bad[b]
		return ok
	})
}

// take records the content of a response.
func (u *run) take(resp *Response) {
	u.contents = slices.DeleteFunc(u.contents, func(d uint64) bool { return d == resp.Digest })
	if len(u.contents) == maxContents {
		u.contents = slices.Delete(u.contents, 0, 1)
	}
	u.contents = append(u.contents, resp.Digest)
	for _, b := range resp.Bad {
		if _, known := u.bad[b]; !known && len(u.bad) < maxBad {
			u.bad[b] = struct{}{}
			u.unlogged = true
		}
	}
}

// answered records that the NACK is sent, and reports whether to omit the log line.
func (u *run) answered(now time.Time) (quiet bool) {
	u.sent, u.early = now, now.Before(u.until)
	if quiet = now.Sub(u.logged) < quietFor && !u.unlogged; !quiet {
		u.logged, u.unlogged = now, false
	}
	return quiet
}
