package envelope

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// A Response is a DiscoveryResponse or a DeltaDiscoveryResponse. Its envelope has been read. Its
// resources are still encoded, in the received bytes. It may be reused for further responses; see
// [Response.Parse].
type Response struct {
	Version string // of the state of the world; only informational in the delta protocol
	TypeURL string
	Nonce   string

	delta     bool
	resources [][]byte
	others    []other
	plain     []byte // the start of an Any of type TypeURL, up to the length of its value
	joined    []byte // values that span several pieces of the message
}

// An other is a field about resources that the response does not contain: removals and errors.
type other struct {
	num   protowire.Number
	value []byte
}

// joinedKept is the limit of the memory for values in several pieces that is kept.
const joinedKept = 1 << 20

// maxAlike is the limit of resources for which memory is reserved in advance.
const maxAlike = 1 << 16

// Field numbers of envoy.service.discovery.v3.DiscoveryResponse and of
// DeltaDiscoveryResponse, which share the first four, of ResourceName, ResourceError
// and google.rpc.Status.
const (
	responseVersion   = 1
	responseResources = 2
	responseTypeURL   = 4
	responseNonce     = 5
	responseErrors    = 7

	deltaResponseRemoved      = 6
	deltaResponseRemovedNames = 8
	deltaResponseErrors       = 9

	resourceNameName = 1

	resourceErrorName   = 1
	resourceErrorDetail = 2
)

// ParseResponse reads the envelope of an encoded DiscoveryResponse. It checks the framing of all of
// it, so that iterating over the resources cannot fail because of the envelope. A malformed
// resource is an error of only that resource.
func ParseResponse(raw []byte) (*Response, error) {
	r := new(Response)
	if err := r.Parse(raw, false); err != nil {
		return nil, err
	}
	return r, nil
}

// ParseDeltaResponse is [ParseResponse] for a DeltaDiscoveryResponse.
func ParseDeltaResponse(raw []byte) (*Response, error) {
	r := new(Response)
	if err := r.Parse(raw, true); err != nil {
		return nil, err
	}
	return r, nil
}

// Parse reads the response in raw, of the delta protocol or not, as [ParseResponse] does. It reuses
// the memory of r and overwrites the previous response.
func (r *Response) Parse(raw []byte, delta bool) error {
	one := [1][]byte{raw}
	return r.ParsePieces(one[:], delta)
}

// ParsePieces is [Response.Parse] for a message in pieces. It copies only the resources that span
// several pieces.
func (r *Response) ParsePieces(list [][]byte, delta bool) error {
	*r = Response{delta: delta, resources: r.resources[:0], others: r.others[:0], plain: r.plain[:0], joined: r.joined[:0]}
	what := "DiscoveryResponse"
	if delta {
		what = "DeltaDiscoveryResponse"
	}
	if err := r.envelope(list); err != nil {
		return fmt.Errorf("transport: not a %s: %w", what, err)
	}
	if !utf8.ValidString(r.Version) || !utf8.ValidString(r.TypeURL) || !utf8.ValidString(r.Nonce) {
		return fmt.Errorf("transport: not a %s: version, type URL or nonce is not UTF-8", what)
	}
	return nil
}

// envelope reads the fields of a message.
func (r *Response) envelope(list [][]byte) error {
	p := pieces{others: list, left: size(list), joined: r.joined}
	for p.next() {
		num, value, err := p.field()
		if err != nil {
			return err
		}
		switch {
		case value == nil:
		case num == responseVersion:
			r.Version = string(value)
		case num == responseResources:
			if cap(r.resources) == 0 { // they mostly have similar sizes
				r.resources = make([][]byte, 0, min((len(value)+p.left)/(len(value)+2)+1, maxAlike))
			}
			r.resources = append(r.resources, value)
		case num == responseTypeURL:
			r.TypeURL = string(value)
		case num == responseNonce:
			r.Nonce = string(value)
		default:
			r.others = append(r.others, other{num, value})
		}
	}
	r.joined = p.joined
	if !r.delta && MessageName(r.TypeURL) != wrapperTypeName {
		r.plain = appendString(r.plain, anyTypeURL, r.TypeURL)
		r.plain = protowire.AppendTag(r.plain, anyValue, protowire.BytesType)
	}
	return nil
}

// Forget drops the references to the message.
func (r *Response) Forget() {
	clear(r.resources)
	clear(r.others)
	if cap(r.joined) > joinedKept {
		r.joined = nil
	}
	*r = Response{resources: r.resources[:0], others: r.others[:0], plain: r.plain[:0], joined: r.joined[:0]}
}

// Delta reports whether the response belongs to the delta protocol.
func (r *Response) Delta() bool { return r.delta }

// Size returns the size of the resources, in bytes.
func (r *Response) Size() (n int) {
	for _, b := range r.resources {
		n += len(b)
	}
	return n
}

// Len returns the number of resources.
func (r *Response) Len() int { return len(r.resources) }

// At returns the resource with an index from 0 to Len()-1.
func (r *Response) At(i int) Resource {
	b := r.resources[i]
	if r.delta {
		return r.wrapped(b)
	}
	if body, ok := r.Plain(i); ok {
		return Resource{TypeURL: r.TypeURL, Body: body}
	}
	return r.resource(b)
}

// Plain returns the body of the resource with an index, if it has no wrapper, is of the response's
// type, and has the usual encoding. [Response.At] handles all resources, and returns nothing more
// for this one.
func (r *Response) Plain(i int) (body []byte, ok bool) {
	b := r.resources[i]
	if len(r.plain) == 0 || !bytes.HasPrefix(b, r.plain) {
		return nil, false
	}
	b = b[len(r.plain):]
	body, n := protowire.ConsumeBytes(b)
	return body, n == len(b)
}

// Resources yields the resources in the order of the response.
func (r *Response) Resources() iter.Seq[Resource] {
	return func(yield func(Resource) bool) {
		for i := range r.Len() {
			if !yield(r.At(i)) {
				return
			}
		}
	}
}

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
