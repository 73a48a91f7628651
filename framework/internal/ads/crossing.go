package ads

import (
	"iter"
	"maps"
	"time"
)

// pendingDrops tracks names that were dropped and wanted again. A state-of-the-world server ignores a
// request, with all its names, if the nonce is not that of its last response. If a response crosses
// the request without the name, the server never sees the name dropped, and will not resend the
// resource. No server reports which requests it has read. Therefore the machine drops the name
// again with the ACK of any response that may have crossed, until the resource arrives.
type pendingDrops struct {
	// left are the names that a request on this stream has dropped, with the number of responses
	// since, or quiet.
	left map[string]int
	// taken are the names that were wanted again and have not arrived since, with the number of
	// times that they were dropped for that.
	taken map[string]int
}

// maxCrossing is the limit of responses that may have crossed a request. maxAnew is the limit of
// times that a missing name is dropped again.
const (
	maxCrossing = 64
	maxAnew     = 4
)

// quiet means that no response came in a time that confirm has already checked.
const quiet = -1

func newPendingDrops() pendingDrops {
	return pendingDrops{left: make(map[string]int), taken: make(map[string]int)}
}

// drop records that a request without a name was sent.
func (d pendingDrops) drop(name string) {
	_, anew := d.taken[name]
	if !anew {
		d.left[name] = 0
	}
}

// confirm removes names that no response has followed: the server has read the request that dropped
// them. It is called at most once in overtakenFor, and a name stays for two calls.
func (d pendingDrops) confirm() {
	for name, responses := range d.left {
		switch responses {
		case 0:
			d.left[name] = quiet
		case quiet:
			delete(d.left, name)
		}
	}
}

// leave records that a name is no longer wanted.
func (d pendingDrops) leave(name string) {
	if _, ok := d.taken[name]; ok {
		delete(d.taken, name)
		d.left[name] = 1
	}
}

// take records that a name is wanted again. It reports whether a response may have crossed the
// request that dropped it.
func (d pendingDrops) take(name string) (crossed bool) {
	responses, ok := d.left[name]
	if ok {
		delete(d.left, name)
		d.taken[name] = 0
	}
	return responses > 0
}

// received handles a response and returns the names that are still pending. A resource that arrives
// before a request asked for it again was never seen dropped.
func (d pendingDrops) received(resp *Response, sent func(name string) bool) iter.Seq[string] {
	for name := range d.left {
		d.left[name] = max(d.left[name], 0) + 1
		if d.left[name] > maxCrossing {
			delete(d.left, name)
		}
	}
	if len(d.taken) > 0 {
		for r := range resp.Resources {
			if r.Verdict != Removed && sent(r.Name) {
				delete(d.taken, r.Name)
			}
		}
	}
	return maps.Keys(d.taken)
}

// again reports whether the machine must unsubscribe from a name again. Without the limit, a server
// that resends the same content at once would keep the client from subscribing to the name.
func (d pendingDrops) again(name string) bool {
	d.taken[name]++
	if n := d.taken[name]; n > maxAnew || n > 1 && isCollection(name) {
		delete(d.taken, name)
		return false
	}
	return true
}

// overtakenFor is how long a requested name may count as overtaken, from the first response after the
// request on. After that, the repetition of overdue names takes over.
const overtakenFor = 10 * time.Second

// overtaken counts the names that a state-of-the-world request asked for and that no response has
// mentioned since. A response that crosses such a request makes its nonce stale, and the
// server ignores the whole request. The ACK of that response lists the names again.
// Its NACK may not help, because some servers ignore every request with an error. So a
// plain request with the newest nonce follows the NACK.
type overtaken struct {
	names  int       // wanted names in the phase asked
	since  time.Time // the first response since a name was last added; zero: there was none
	follow bool      // a plain request must follow the NACK
}

// mentioned handles a response. No response answers a collection: the response and its ACK
// may have crossed the request for the collection.
func (s *sotwNames) mentioned(resp *Response, now time.Time) {
	o := &s.overtaken
	if o.follow = false; o.names == 0 {
		return
	}
	switch {
	case o.since.IsZero(): // the network may have delayed the response for any time
		o.since = now
	case now.Sub(o.since) > overtakenFor:
		for i := range s.phases {
			s.settle(i)
		}
		return
	}
	for r := range resp.Resources {
		s.settleNamed(r.Name)
		for _, alias := range r.Aliases {
			s.settleNamed(alias)
		}
		if o.names == 0 {
			break
		}
	}
	o.follow = resp.Reject != "" && o.names > 0
}

// settle records that the name at a position is not overtaken.
func (s *sotwNames) settle(i int) {
	if s.phases[i] == asked {
		s.phases[i] = sent
		s.overtaken.names--
	}
}

func (s *sotwNames) settleNamed(name string) {
	if i, ok := s.find(name); ok {
		s.settle(i)
	}
}

// A wildcardEnd is the end of a state-of-the-world wildcard that was subscribed to without
// names. Two requests end it: one names "*", and one has no names. The server ignores both if a
// response crosses them. Then the ACK of that response, which has no names, would mean the
// wildcard again. So the machine sends both requests again, at most maxAnew times.
type wildcardEnd struct {
	spelled bool // a request named "*", and no response has come since
	anew    int
}

// crossed reports whether a response may have crossed both requests. The list is that of
// the last request. The ACK has it, too; if there are names in it, it ends the wildcard.
func (e *wildcardEnd) crossed(list []string) bool {
	if !e.spelled {
		return false
	}
	e.spelled = false
	e.anew++
	return len(list) == 0 && e.anew <= maxAnew
}
