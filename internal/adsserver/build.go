package adsserver

import (
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
)

// buildPuts returns a response with new and changed resources, or nil.
func (s *substream) buildPuts() [][]byte {
	if !s.stream.delta && s.kind.Complete {
		return s.buildWhole(true)
	}
	return s.respond(s.changes())
}

// buildWhole returns a state-of-the-world response of a complete type, or nil. With keep, it removes nothing.
func (s *substream) buildWhole(keep bool) [][]byte {
	if s.encodeAll() {
		s.stream.more = true
		return nil
	}
	batch, ok := s.whole(keep)
	if !ok {
		return nil
	}
	if len(batch) == 0 {
		return s.finish(nil, nil)
	}
	return s.respond(batch)
}

// encodeAll encodes some of the resources of a large response. It reports whether it was interrupted. Contents that
// appear meanwhile are few, and are encoded with the response.
func (s *substream) encodeAll() (interrupted bool) {
	c := s.stream.core
	if s.waiting > 0 || s.subs.n <= c.part || c.stamps-s.encoded <= uint64(c.part) { //nolint:gosec // positive
		return false
	}
	n := 0
	for p := range s.subs.from(s.encoding) {
		if n >= c.part {
			s.encoding = p.id
			return true
		}
		if x := p.entry.content; x != nil && x.whole == nil {
			x.field(s.kind, false)
			n += x.parts()
		}
	}
	s.encoding, s.encoded = 0, c.stamps
	return false
}

// buildGone returns a response with removals, or nil.
func (s *substream) buildGone() [][]byte {
	wait := s.stream.defers()
	switch {
	case s.stream.delta:
		if s.compare() {
			s.stream.more = true
			return nil
		}
		s.gone = s.compares()
		wildcard, more := s.collectOwed(wait)
		if more {
			s.stream.more = true
			return nil
		}
		names := s.takeOwed()
		switch {
		case wildcard == nil && len(names) == 0:
			return nil
		case wildcard != nil && len(names) > 0: // it gets a response without names, which is the next one
			wildcard.told, s.gone = false, true
		}
		return s.finish([][]byte{names}, nil)
	case !s.kind.Complete:
	case wait:
		return s.deferWhole()
	default:
		return s.buildWhole(false)
	}
	s.gone = false
	if _, more := s.removals(false); more { // the protocol cannot say so
		s.gone, s.stream.more = true, true
		return nil
	}
	if _, wildcard := s.emptyLists(); wildcard != nil {
		return s.finish(nil, nil)
	}
	return nil
}

// collectOwed adds removals to the owed ones, and afterwards the empty collections. It returns the wildcard if that is empty,
// and reports whether it was interrupted.
func (s *substream) collectOwed(wait bool) (wildcard *listSub, more bool) {
	names, more := s.removals(wait)
	s.owed = append(s.owed, names...)
	if more {
		s.gone = true
		return nil, len(s.owed) < maxRemoved
	}
	empty, wildcard := s.emptyLists()
	s.owed = append(s.owed, empty...)
	return wildcard, false
}

// maxRemoved bounds the removals in a response.
const maxRemoved = 10_000

// takeOwed returns the encoding of owed removals, up to the limit of a response.
func (s *substream) takeOwed() (b []byte) {
	for len(s.owed) > 0 && len(b) == 0 {
		n, size := 0, 0
		for n < min(len(s.owed), maxRemoved) {
			size += protowire.SizeTag(deltaRemoved) + protowire.SizeBytes(len(s.owed[n]))
			if n > 0 && size > s.stream.core.config.Limits.ResponseBytes {
				break
			}
			n++
		}
		names := slices.DeleteFunc(s.owed[:n:n], s.returned)
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			b = protowire.AppendString(appendTag(b, deltaRemoved), name) // also an empty one
		}
		clear(s.owed[:n])
		s.owed = s.owed[n:]
	}
	if len(s.owed) == 0 {
		s.owed = nil
	} else {
		s.gone = true
	}
	return b
}

// buildBeats returns a response with heartbeats, or nil.
func (s *substream) buildBeats() [][]byte {
	if !s.stream.delta && s.kind.Complete {
		return s.buildWhole(true) // all other resources have to be in the response
	}
	var b []byte
	c := s.stream.core
	c.newBatch()
	for _, e := range s.beats {
		if p := s.find(e); p != nil && e.content != nil && p.stamp == e.content.stamp && e.content.batch != c.batches {
			e.content.batch = c.batches // once, whatever the number of its aliases
			b = e.content.heartbeat(b, s.kind, s.stream.delta)
		}
	}
	s.beats = nil
	if b == nil {
		return nil
	}
	return s.finish([][]byte{b}, nil)
}

// respond returns a response with a batch, or nil if it is empty.
func (s *substream) respond(batch []*content) [][]byte {
	c := s.stream.core
	c.batch = batch[:0]
	if len(batch) == 0 {
		return nil
	}
	pieces, kept, j := s.kind.shared.encode(s.kind, s.stream.delta, batch)
	s.stream.joint = j
	clear(batch)
	if late := func(x *content) bool { return x.late }; slices.ContainsFunc(kept, late) {
		kept = slices.DeleteFunc(slices.Clone(kept), late) // the client rejects no resource by them
	}
	return s.finish(pieces, kept)
}

// shared has the encodings of batches that several streams need.
type shared struct {
	joints map[uint64]*joint
	seen   map[uint64]struct{} // digests of batches that one stream needed
	bytes  int                 // in joints
}

// A joint is the encoding of a batch in one buffer. The first stream that sends it joins the pieces, without the lock of the
// core: they can be many.
type joint struct {
	batch  []*content
	size   int
	once   sync.Once
	pieces [][]byte // nil afterwards
	bytes  []byte
}

// joined returns the buffer.
func (j *joint) joined() []byte {
	j.once.Do(func() {
		j.bytes = make([]byte, 0, j.size)
		for _, p := range j.pieces {
			j.bytes = append(j.bytes, p...)
		}
		j.pieces = nil
	})
	return j.bytes
}

// Bounds of shared encodings of a type. More are dropped.
const (
	maxJoints     = 64
	maxJointBytes = 64 << 20
	maxSeen       = 4096
)

// clear forgets all encodings, because a resource changes.
func (h *shared) clear() {
	if len(h.joints)+len(h.seen) > 0 {
		*h = shared{}
	}
}

// encode returns the resources of a response, and a copy of the batch that nobody changes. The first
// stream with a batch gets the buffers of its resources, later ones share one buffer: the joint is the first piece, which is
// empty here.
func (h *shared) encode(k *kind, delta bool, batch []*content) (pieces [][]byte, kept []*content, j *joint) {
	if len(batch) == 1 {
		return append(make([][]byte, 0, 2), batch[0].field(k, delta)), slices.Clone(batch), nil
	}
	digest := digestOf(batch, delta)
	if j := h.joints[digest]; j != nil && slices.EqualFunc(j.batch, batch, func(x, y *content) bool { return x.stamp == y.stamp }) {
		return make([][]byte, 1, 2), j.batch, j
	}
	if _, again := h.seen[digest]; again {
		j := newJoint(k, delta, batch)
		if len(h.joints) >= maxJoints || h.bytes+j.size > maxJointBytes {
			h.clear()
		}
		if h.joints == nil {
			h.joints = make(map[uint64]*joint)
		}
		h.joints[digest] = j
		h.bytes += j.size
		return make([][]byte, 1, 2), j.batch, j
	}
	if len(h.seen) >= maxSeen || h.seen == nil {
		h.seen = make(map[uint64]struct{})
	}
	h.seen[digest] = struct{}{}
	pieces = make([][]byte, 0, len(batch)+1)
	for _, x := range batch {
		pieces = append(pieces, x.field(k, delta))
	}
	return pieces, slices.Clone(batch), nil
}

func newJoint(k *kind, delta bool, batch []*content) *joint {
	j := &joint{batch: slices.Clone(batch), pieces: make([][]byte, 0, len(batch))}
	for _, x := range batch {
		b := x.field(k, delta)
		j.pieces = append(j.pieces, b)
		j.size += len(b)
	}
	return j
}

// digestOf returns a digest of the contents of a batch. Equal digests do not prove equal batches.
func digestOf(batch []*content, delta bool) uint64 {
	const prime = 1099511628211
	d := uint64(14695981039346656037)
	if delta {
		d++
	}
	for _, x := range batch {
		d = (d ^ x.stamp) * prime
	}
	return d
}
