package adsserver

import "sync"

// A Budget bounds the names and other memory of all streams of one client, of one or more cores. It is safe for
// concurrent use.
type Budget struct {
	// Names and Bytes are the limits. Set them before the first use.
	Names, Bytes int

	mu           sync.Mutex
	names, bytes int

	// turn is held by the stream of the client that works. So a client waits for the lock of a core at most once at
	// a time, whatever the number of its streams.
	turn sync.Mutex
}

// enter waits for the turn of a stream of the client.
func (b *Budget) enter() {
	if b != nil {
		b.turn.Lock()
	}
}

// exit ends the turn.
func (b *Budget) exit() {
	if b != nil {
		b.turn.Unlock()
	}
}

// Turn calls f while no stream of the client works.
func (b *Budget) Turn(f func()) {
	b.enter()
	defer b.exit()
	f()
}

// Charge adds other memory of the client in bytes, or gives back a negative number of them. An error does not undo it.
func (b *Budget) Charge(n int) error {
	b.mu.Lock()
	b.bytes += n
	b.mu.Unlock()
	if n <= 0 {
		return nil
	}
	return b.check()
}

// count adds or removes the subscription to a name.
func (st *Stream) count(n int, name string) {
	st.names += n
	st.nameBytes += n * len(name)
}

// charge adds the new names of a stream to the budget of its client.
func (st *Stream) charge() error {
	if b := st.budget; b != nil && b.update(st) {
		return b.check()
	}
	return nil
}

// update follows the names and claims of a stream. It reports whether they have changed.
func (b *Budget) update(st *Stream) bool {
	size := st.nameBytes + st.claimed
	if b == nil || st.names == st.charged && size == st.chargedSize {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names += st.names - st.charged
	b.bytes += size - st.chargedSize
	st.charged, st.chargedSize = st.names, size
	return true
}

// check returns an error if the client exceeds a limit.
func (b *Budget) check() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.names > b.Names:
		return &LimitError{Limit: "names", Of: "client", Value: b.names, Max: b.Names, Option: "Limits.ClientNames"}
	case b.bytes > b.Bytes:
		return &LimitError{Limit: "bytes of names, initial versions and nodes", Of: "client", Value: b.bytes, Max: b.Bytes, Option: "Limits.ClientBytes"}
	}
	return nil
}

// release removes the names of a stream that has ended.
func (b *Budget) release(st *Stream) {
	st.names, st.nameBytes, st.claimed = 0, 0, 0
	b.update(st)
}
