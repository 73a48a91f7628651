package client

import (
	"errors"
	"time"
)

// An outage is a time during which a server is unreachable. The log has one line when it begins or
// its reason changes, and one when it is over. Retries in between do not add lines. Only the loop
// uses an outage.
type outage struct {
	since    time.Time // zero: the server is reachable, or its state is unknown
	attempts int       // failed ones
	err      error     // of the last attempt
}

// failed records a failed attempt, and reports whether to log it as an outage.
func (o *outage) failed(err error, now time.Time) (news bool) {
	if o.since.IsZero() {
		o.since, news = now, true
	} else {
		news = !alike(err, o.err)
	}
	o.attempts++
	o.err = err
	return news
}

// over ends the outage. It returns the attributes of the log line for the end, or nil if there was
// no outage.
func (o *outage) over(now time.Time) []any {
	if o.since.IsZero() {
		return nil
	}
	attributes := []any{"outage", now.Sub(o.since), "attempts", o.attempts}
	*o = outage{}
	return attributes
}

// alike reports whether two errors are of one kind or have the same text.
func alike(a, b error) bool { return errors.Is(a, b) || a.Error() == b.Error() }
