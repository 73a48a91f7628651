package adsserver

import "sync"

// Memory in bytes that the budget of a client has besides the lengths of its names. A test measures each.
const (
	subCost        = 64  // a subscription to a name, or by a collection to one of its members
	entryCost      = 256 // a name, once for all of its subscriptions
	collectionCost = 576 // a subscription to a collection
	refusedCost    = 80  // a subscription without permission
	typeCost       = 640 // a type of a stream
)

// NameCost is the memory in bytes of a name that one stream subscribes to, besides its length.
const NameCost = subCost + entryCost

// A Budget bounds the names and other memory of all streams of one client, of one or more cores. It is safe for
// concurrent use.
type Budget struct {
	// Names and Bytes are the limits. Set them before the first use. Bytes bounds the memory: of the names, the
	// subscriptions, and the claims.
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

// Hold charges the bytes of a request while f handles it: the requests of many streams may wait for their turn. It does not
// call f beyond the limit.
func (b *Budget) Hold(n int, f func() error) error {
	if n <= unreadSize {
		return f()
	}
	err := b.Charge(n)
	if err == nil {
		err = f()
	}
	_ = b.Charge(-n) // gives back
	return err
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

// pay has the stream of a subscription pay for the name.
func (s *substream) pay(p *sub) {
	p.flags |= pays
	s.stream.cost += entryCost
}

// payers is the number of streams among which a stream that pays for a name looks for another one. All others may
// subscribe by a collection, whose members the client does not choose.
const payers = 16

// stopPaying ends that a subscription pays for its name. It has just ended. Another stream pays if one subscribes to it.
func (s *substream) stopPaying(p *sub) {
	if !p.flags.has(pays) {
		return
	}
	p.flags &^= pays
	s.stream.cost -= entryCost
	e := p.entry
	for i := len(e.users) - 1; i >= max(0, len(e.users)-payers) && e.explicit > 0; i-- {
		other := e.users[i]
		if q := other.find(e); other != s && q != nil && q.flags.has(byName) {
			other.pay(q)
			other.stream.budget.update(other.stream)
			return
		}
	}
}

// unreadSize is the size up to which the bytes of a request or response are not charged. It is within the cost of a stream.
const unreadSize = 4 << 10

// sending notes the bytes of a response that no other stream shares: names that do not exist, errors, heartbeats. The
// transport has at most two responses of a client that does not read: one is on its way, and one waits.
func (st *Stream) sending(bytes int) {
	if bytes <= unreadSize {
		bytes = 0
	}
	st.unread = [2]int{st.unread[1], bytes}
}

// received notes that the client has answered the last response.
func (st *Stream) received() {
	if st.unread != [2]int{} {
		st.unread = [2]int{}
		st.budget.update(st)
	}
}

// charge adds the new names of a stream to the budget of its client.
func (st *Stream) charge() error {
	if b := st.budget; b != nil && b.update(st) {
		return b.check()
	}
	return nil
}

// update follows the names, the claims, the memory and the responses of a stream. It reports whether they have changed.
func (b *Budget) update(st *Stream) bool {
	size := st.nameBytes + st.claimed + st.cost + st.unread[0] + st.unread[1]
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
		return &LimitError{Limit: "memory of names, initial versions, nodes, waiting requests and unread responses", Of: "client", Value: b.bytes, Max: b.Bytes, Option: "Limits.ClientBytes"}
	}
	return nil
}

// release removes the names of a stream that has ended.
func (b *Budget) release(st *Stream) {
	st.names, st.nameBytes, st.claimed, st.cost, st.unread = 0, 0, 0, 0, [2]int{}
	b.update(st)
}
