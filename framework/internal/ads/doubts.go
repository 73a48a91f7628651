package ads

import (
	"iter"
	"maps"
)

// doubts tracks names that were dropped and wanted again. A state-of-the-world server ignores a
// request, with all its names, if the nonce is not that of its last response. If a response crosses
// the request without the name, the server never sees the name dropped, and will not resend the
// resource. No server reports which requests it has read. Therefore the machine drops the name
// again with the ACK of any response that may have crossed, until the resource arrives.
type doubts struct {
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

// quiet means that no response came in a time that settle has already checked.
const quiet = -1

func newDoubts() doubts { return doubts{left: make(map[string]int), taken: make(map[string]int)} }

// drop records that a request without a name was sent.
func (d doubts) drop(name string) {
	_, anew := d.taken[name]
	if !anew {
		d.left[name] = 0
	}
}

// settle removes names that no response has followed: the server has read the request that dropped
// them. It is called at most once in overtakenFor, and a name stays for two calls.
func (d doubts) settle() {
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
func (d doubts) leave(name string) {
	if _, ok := d.taken[name]; ok {
		delete(d.taken, name)
		d.left[name] = 1
	}
}

// take records that a name is wanted again. It reports whether a response may have crossed the
// request that dropped it.
func (d doubts) take(name string) (crossed bool) {
	responses, ok := d.left[name]
	if ok {
		delete(d.left, name)
		d.taken[name] = 0
	}
	return responses > 0
}

// received handles a response and returns the names that are still doubted. A resource that arrives
// before a request asked for it again was never seen dropped.
func (d doubts) received(resp *Response, sent func(name string) bool) iter.Seq[string] {
	for name := range d.left {
		d.left[name] = max(d.left[name], 0) + 1
		if d.left[name] > maxCrossing {
			delete(d.left, name)
		}
	}
	for _, a := range resp.Accepted {
		if sent(a.Name) {
			delete(d.taken, a.Name)
		}
	}
	for _, name := range resp.Rejected {
		if sent(name) {
			delete(d.taken, name)
		}
	}
	return maps.Keys(d.taken)
}

// again reports whether the machine must unsubscribe from a name again. Without the limit, a server
// that resends the same content at once would keep the client from subscribing to the name.
func (d doubts) again(name string) bool {
	d.taken[name]++
	if n := d.taken[name]; n > maxAnew || n > 1 && isCollection(name) {
		delete(d.taken, name)
		return false
	}
	return true
}
