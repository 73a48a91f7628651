package client

import (
	"errors"
	"time"
)

// An outage is a time during which a server cannot be reached. The log has one line when it
// begins or its reason changes, and one when it is over. Retries in between do not add
// lines. Only the loop uses an outage.
type outage struct {
	since    time.Time // zero: the server can be reached, or nothing is known of it
	attempts int       // that failed
	err      error     // of the last of them
}

// failed notes an attempt that failed, and reports whether to log it as an outage.
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

// over ends the outage. It returns the attributes of the line that says so; nil if there
// was no outage.
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
