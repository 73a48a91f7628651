package ads

import (
	"encoding/binary"
	"hash/maphash"
)

// maxParted bounds the names in a [parted]. Those that it does not take are unsubscribed
// from once they are overdue.
const maxParted = 1 << 18

// A parted has the names of former members of collections that have ended. The server may
// remember that it sent them, and sends one again only after it was unsubscribed from.
// There can be as many as a collection has members, and few of them are ever asked for. So
// it keeps hashes. If two names have the same hash, which hardly happens, a request
// unsubscribes from a name that the server did not send, or a name is found to be overdue
// first.
type parted struct {
	seed   maphash.Seed
	hashes map[hash]struct{}
}

// A hash is of bytes, since a map of integers and empty values takes almost twice the
// memory.
type hash [8]byte

func (p *parted) of(name string) (h hash) {
	binary.NativeEndian.PutUint64(h[:], maphash.String(p.seed, name))
	return h
}

// add adds a name. The set has room for so many more, if it was empty.
func (p *parted) add(name string, room int) {
	if len(p.hashes) == 0 { // a map that grows takes more memory
		p.seed, p.hashes = maphash.MakeSeed(), make(map[hash]struct{}, min(room, maxParted))
	}
	if len(p.hashes) < maxParted {
		p.hashes[p.of(name)] = struct{}{}
	}
}

// take removes a name, and reports whether it was there.
func (p *parted) take(name string) bool {
	if len(p.hashes) == 0 {
		return false
	}
	h := p.of(name)
	_, ok := p.hashes[h]
	delete(p.hashes, h)
	if len(p.hashes) == 0 {
		p.hashes = nil // a map keeps its memory
	}
	return ok
}
