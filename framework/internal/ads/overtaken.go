package ads

import "time"

// overtakenFor is how long a requested name may count as overtaken. After that, the repetition of
// overdue names takes over.
const overtakenFor = 10 * time.Second

// overtaken are names that a state-of-the-world request asked for and that no response has
// mentioned since. A response that crosses such a request makes its nonce stale, and the
// server ignores the whole request. The ACK of that response lists the names again.
// Its NACK may not help, because some servers ignore every request with an error. So a
// plain request with the newest nonce follows the NACK.
type overtaken struct {
	names  map[string]struct{}
	since  time.Time // when names was last added to
	follow bool      // a plain request must follow the NACK
	most   int       // largest number of names at once
}

func newOvertaken() overtaken { return overtaken{names: make(map[string]struct{})} }

func (o *overtaken) add(names []string, now time.Time) {
	for _, name := range names {
		o.names[name] = struct{}{}
	}
	o.since, o.most = now, max(o.most, len(o.names))
}

func (o *overtaken) forget(name string) {
	delete(o.names, name)
	if len(o.names) == 0 && o.most > manyNames {
		*o = overtaken{names: make(map[string]struct{}), since: o.since, follow: o.follow}
	}
}

// received handles a response. No response answers a collection: the response and its ACK
// may have crossed the request for the collection.
func (o *overtaken) received(resp *Response, now time.Time) {
	o.follow = false
	if len(o.names) == 0 {
		return
	}
	if now.Sub(o.since) > overtakenFor {
		clear(o.names)
		return
	}
	for _, a := range resp.Accepted {
		delete(o.names, a.Name)
		for _, alias := range a.Aliases {
			delete(o.names, alias)
		}
	}
	for _, list := range [][]string{resp.Rejected, resp.Removed} {
		for _, name := range list {
			delete(o.names, name)
		}
	}
	o.follow = resp.Reject != "" && len(o.names) > 0
}
