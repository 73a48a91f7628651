package ads

import "time"

// A pace limits the requests of one type in the state-of-the-world variant. Each of them lists all
// names, so a request for every new name would cost bytes by the square of the names.
//
// A request with new names starts a pause in proportion to its names. The first response after it
// shortens the pause, because a fast server can handle more requests. While the last new names are
// answered and there is credit for the list, new names do not wait at all. Names that are only
// dropped wait for the whole pause, because nobody waits for that request.
type pace struct {
	perName time.Duration // of the whole pause

	names    int       // in the last request with new names
	sentAt   time.Time // of that request
	answered bool      // a response of the type has arrived since then
	newUntil time.Time // before then, new names wait without credit
	endUntil time.Time // before then, dropped names alone wait
	fullAt   time.Time // when all credit is back
}

// maxCredit is the limit of names in requests that do not wait. One name is credited again each
// perName. It suffices for 1,100 to 1,300 watches, each after the value of the last.
const maxCredit = 600_000

// quickening is the factor by which a response shortens a pause, at most.
const quickening = 5

// permits reports whether a list of names with new ones may be sent now.
func (p *pace) permits(names int, now time.Time) bool {
	return !now.Before(p.newUntil) || p.answered && p.after(names, now) <= p.over(maxCredit)
}

// permitsEnd reports whether a request may be sent now that only drops names.
func (p *pace) permitsEnd(now time.Time) bool { return !now.Before(p.endUntil) }

// over returns the whole pause after a request with the given number of names.
func (p *pace) over(names int) time.Duration { return time.Duration(names) * p.perName }

// after returns how long it takes until all credit is back, if a request with the given number of
// names is sent.
func (p *pace) after(names int, now time.Time) time.Duration {
	return max(p.fullAt.Sub(now), 0) + p.over(names)
}

// sent records a request that changed the list.
func (p *pace) sent(names int, added bool, now time.Time) {
	p.fullAt = now.Add(min(p.after(names, now), p.over(maxCredit)))
	p.endUntil = now.Add(p.over(names))
	if added {
		p.names, p.sentAt, p.answered, p.newUntil = names, now, false, p.endUntil
	}
}

// received records a response.
func (p *pace) received(now time.Time) {
	if p.answered || p.sentAt.IsZero() {
		return
	}
	p.answered = true
	if at := now.Add(max(now.Sub(p.sentAt), p.over(p.names)/quickening)); at.Before(p.newUntil) {
		p.newUntil = at
	}
}

// reset records the end of the stream.
func (p *pace) reset() { *p = pace{perName: p.perName} }
