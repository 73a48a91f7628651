package envelope

import (
	"encoding/binary"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// pieces is the unread rest of a message that arrived in pieces.
type pieces struct {
	first   []byte
	others  [][]byte
	left    int // bytes in all of them
	touched byte
	joined  []byte // memory for values that span several pieces
}

// joinedRoom is the amount of memory that is allocated at once for such values.
const joinedRoom = 16 << 10

// longestHead is the longest tag and length of a field, or tag and value if it has no length.
const longestHead = 2 * binary.MaxVarintLen64

var errTruncated = protowire.ParseError(-1)

// next skips empty pieces at the front, and reports whether a piece is left.
func (p *pieces) next() bool {
	for len(p.first) == 0 {
		if len(p.others) == 0 {
			return false
		}
		p.first, p.others = p.others[0], p.others[1:]
		for at := 0; at < len(p.first); at += 64 {
			p.touched += p.first[at]
		}
	}
	return true
}

// head returns the next bytes: as many as a head may have, or all that are left.
func (p *pieces) head(room *[longestHead]byte) []byte {
	if len(p.first) >= longestHead || len(p.others) == 0 {
		return p.first
	}
	b := room[:copy(room[:], p.first)]
	for _, piece := range p.others {
		if len(b) == longestHead {
			break
		}
		b = append(b, piece[:min(len(piece), longestHead-len(b))]...)
	}
	return b
}

// skip skips n bytes, which must exist.
func (p *pieces) skip(n int) {
	p.left -= n
	for n > len(p.first) {
		n -= len(p.first)
		p.first, p.others = p.others[0], p.others[1:]
	}
	p.first = p.first[n:]
}

// take returns the next n bytes, in place if they are in one piece.
func (p *pieces) take(n uint64) ([]byte, error) {
	if n > uint64(p.left) { //nolint:gosec // a length
		return nil, errTruncated
	}
	p.left -= int(n) //nolint:gosec // as much as is there
	if n <= uint64(len(p.first)) {
		b := p.first[:n:n]
		p.first = p.first[n:]
		return b, nil
	}
	if uint64(cap(p.joined)-len(p.joined)) < n { //nolint:gosec // a length
		p.joined = make([]byte, 0, max(n, joinedRoom))
	}
	b := p.joined[len(p.joined):]
	for n > 0 {
		p.next()
		part := p.first[:min(n, uint64(len(p.first)))]
		b, p.first, n = append(b, part...), p.first[len(part):], n-uint64(len(part))
	}
	p.joined = p.joined[:len(p.joined)+len(b)]
	return slices.Clip(b), nil
}

// field reads the next field. The value is nil unless it is length-delimited.
func (p *pieces) field() (num protowire.Number, value []byte, err error) {
	var room [longestHead]byte
	head := p.head(&room)
	num, typ, n := protowire.ConsumeTag(head)
	if n < 0 {
		return 0, nil, protowire.ParseError(n)
	}
	switch typ {
	case protowire.BytesType:
		size, m := protowire.ConsumeVarint(head[n:])
		if m < 0 {
			return 0, nil, protowire.ParseError(m)
		}
		p.skip(n + m)
		value, err = p.take(size)
		return num, value, err
	case protowire.StartGroupType: // of unknown length: the rest in one piece
		p.skip(n)
		rest, err := p.take(uint64(p.left)) //nolint:gosec // a length
		if err != nil {
			return 0, nil, err
		}
		if n = protowire.ConsumeFieldValue(num, typ, rest); n < 0 {
			return 0, nil, protowire.ParseError(n)
		}
		p.first, p.left = rest[n:], len(rest)-n
		return num, nil, nil
	default:
		m := protowire.ConsumeFieldValue(num, typ, head[n:])
		if m < 0 {
			return 0, nil, protowire.ParseError(m)
		}
		p.skip(n + m)
		return num, nil, nil
	}
}

// size returns the total number of bytes.
func size(list [][]byte) (n int) {
	for _, piece := range list {
		n += len(piece)
	}
	return n
}
