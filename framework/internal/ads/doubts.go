package ads

import (
	"iter"
	"maps"
)

// doubts are about names that were dropped and taken again. A state-of-the-world
// server passes over a request whose nonce is not that of its last response, names
// and all. So a response that crosses the request without the name on its way has the
// server never see it dropped, and it will not send again what it sent already. Since
// no server says which requests it has read, the name is dropped anew with the ACK of
// any response that may have crossed, until the resource has come.
type doubts struct {
	// left are names that a request on this stream has dropped, with the number of
	// responses since, or quiet.
	left map[string]int
	// taken are names that were taken again and have not come since, with how often
	// they were dropped for that.
	taken map[string]int
}

// maxCrossing bounds how many responses are believed to have crossed a request, and
// maxAnew how often a name that does not come is dropped anew.
const (
	maxCrossing = 64
	maxAnew     = 4
)

// quiet stands for no response in a time that was looked at already.
const quiet = -1

func newDoubts() doubts { return doubts{left: make(map[string]int), taken: make(map[string]int)} }

// drop notes that a request leaves without a name.
func (d doubts) drop(name string) {
	_, anew := d.taken[name]
	if !anew {
		d.left[name] = 0
	}
}

// settle forgets names that no response has followed: the server has read the request that
// dropped them. There is one call in overtakenFor at most, and a name stays for two.
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

// leave notes that a name is not wanted any longer.
func (d doubts) leave(name string) {
	if _, ok := d.taken[name]; ok {
		delete(d.taken, name)
		d.left[name] = 1
	}
}

// take notes that a name is wanted again, and reports whether a response may have
// crossed the request that dropped it.
func (d doubts) take(name string) (crossed bool) {
	responses, ok := d.left[name]
	if ok {
		delete(d.left, name)
		d.taken[name] = 0
	}
	return responses > 0
}

// received notes what a response has, and returns the names that are still doubted. One
// that comes although no request asked for it again was never seen dropped.
func (d doubts) received(ev Received, sent func(name string) bool) iter.Seq[string] {
	for name := range d.left {
		d.left[name] = max(d.left[name], 0) + 1
		if d.left[name] > maxCrossing {
			delete(d.left, name)
		}
	}
	for _, a := range ev.Accepted {
		if sent(a.Name) {
			delete(d.taken, a.Name)
		}
	}
	for _, name := range ev.Rejected {
		if sent(name) {
			delete(d.taken, name)
		}
	}
	return maps.Keys(d.taken)
}

// again reports whether the machine must unsubscribe from a name again. Without a bound, a server that sends
// the same content again at once would keep the name from being asked for.
func (d doubts) again(name string) bool {
	d.taken[name]++
	if n := d.taken[name]; n > maxAnew || n > 1 && isCollection(name) {
		delete(d.taken, name)
		return false
	}
	return true
}
