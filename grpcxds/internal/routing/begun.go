package routing

import "sync"

// A begun has the calls that have waited for a table and have not ended. It is safe for concurrent use.
type begun struct {
	mu    sync.Mutex
	calls int
	over  []func() // to be called when the last call has ended
}

// add adds a call.
func (b *begun) add() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
}

// end removes a call.
func (b *begun) end() {
	for _, f := range b.remove() {
		f()
	}
}

// remove removes a call and returns the functions to be called then.
func (b *begun) remove() (over []func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls--
	if b.calls == 0 {
		over, b.over = b.over, nil
	}
	return over
}

// wait reports whether there are calls. If so, it calls over when the last of them has ended.
func (b *begun) wait(over func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.calls > 0 {
		b.over = append(b.over, over)
	}
	return b.calls > 0
}
