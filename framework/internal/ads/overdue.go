package ads

import "time"

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
