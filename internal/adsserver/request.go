package adsserver

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A request is a decoded DiscoveryRequest or DeltaDiscoveryRequest. It refers to the bytes.
type request struct {
	node        []byte
	version     []byte
	names       [][]byte // subscribed, or to subscribe to
	unsubscribe [][]byte
	initial     [][2][]byte // names and versions
	over        *LimitError // the lists are beyond a limit, and not decoded; nil: they are within the limits
	digest      uint64      // of names, in state of the world; never 0
	longest     int         // length of the longest name
	collections int         // in names or in unsubscribe; the greater number
	claims      *claims     // of initial; nil if there are none
	url         []byte
	nonce       []byte
	rejected    bool
	reason      []byte
}

// Field numbers of the requests.
const (
	wholeVersion = 1
	wholeNode    = 2
	wholeNames   = 3
	wholeURL     = 4
	wholeNonce   = 5
	wholeError   = 6

	deltaNode        = 1
	deltaURL         = 2
	deltaSubscribe   = 3
	deltaUnsubscribe = 4
	deltaInitial     = 5
	deltaNonce       = 6
	deltaError       = 7

	statusCode    = 1
	statusMessage = 2
	nodeIDField   = 1
	nodeFeatures  = 10
)

// decode reads an encoded request. All its strings are valid UTF-8 afterwards. An element of a list takes two bytes in a
// request and many times as many here, so the limits apply before.
func (r *request) decode(b []byte, delta bool, limits *Limits) error {
	*r = request{names: r.names[:0], unsubscribe: r.unsubscribe[:0], initial: r.initial[:0]}
	if err := r.grow(b, delta, limits); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	set := r.setWhole
	if delta {
		set = r.setDelta
	}
	if err := fields(b, set); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	for _, list := range [][][]byte{r.names, r.unsubscribe, {r.url, r.nonce, r.version}} {
		for _, s := range list {
			if !utf8.Valid(s) {
				return errText
			}
		}
	}
	for _, pair := range r.initial {
		if !utf8.Valid(pair[0]) || !utf8.Valid(pair[1]) {
			return errText
		}
	}
	r.measure(r.names)
	r.measure(r.unsubscribe)
	return nil
}

// measure counts names and their bytes for the limits, without the lock of the core.
func (r *request) measure(names [][]byte) {
	collections := 0
	for _, n := range names {
		r.longest = max(r.longest, len(n))
		if bytes.HasPrefix(n, []byte("xdstp:")) && isCollection(string(n)) {
			collections++
		}
	}
	r.collections = max(r.collections, collections)
}

// grow makes room for the lists of an encoded request. If they are beyond the limits, it notes that.
func (r *request) grow(b []byte, delta bool, limits *Limits) error {
	var n [deltaInitial + 1]int
	if err := fields(b, func(number protowire.Number, _ []byte) error {
		if number > 0 && int(number) < len(n) {
			n[number]++
		}
		return nil
	}); err != nil {
		return err
	}
	if !delta {
		n = [deltaInitial + 1]int{deltaSubscribe: n[wholeNames]}
	}
	if names := max(n[deltaSubscribe], n[deltaUnsubscribe]); names > limits.Names {
		r.over = &LimitError{Limit: "names", Value: names, Max: limits.Names, Option: "Limits.Names"}
		return nil
	}
	if n[deltaInitial] > limits.InitialVersions {
		r.over = &LimitError{Limit: "initial_resource_versions", Value: n[deltaInitial], Max: limits.InitialVersions, Option: "Limits.InitialVersions"}
		return nil
	}
	r.names = slices.Grow(r.names, n[deltaSubscribe])
	r.unsubscribe = slices.Grow(r.unsubscribe, n[deltaUnsubscribe])
	r.initial = slices.Grow(r.initial, n[deltaInitial])
	return nil
}

var errText = fmt.Errorf("%w: a string is not UTF-8", ErrMalformed)

func (r *request) setWhole(number protowire.Number, v []byte) error {
	if r.over != nil && number == wholeNames {
		return nil
	}
	switch number { //nolint:exhaustive // a message has few fields
	case wholeVersion:
		r.version = v
	case wholeNode:
		r.node = v
	case wholeNames:
		r.names = append(r.names, v)
	case wholeURL:
		r.url = v
	case wholeNonce:
		r.nonce = v
	case wholeError:
		return r.reject(v)
	}
	return nil
}

func (r *request) setDelta(number protowire.Number, v []byte) error {
	if r.over != nil && deltaSubscribe <= number && number <= deltaInitial {
		return nil
	}
	switch number { //nolint:exhaustive // a message has few fields
	case deltaNode:
		r.node = v
	case deltaURL:
		r.url = v
	case deltaSubscribe:
		r.names = append(r.names, v)
	case deltaUnsubscribe:
		r.unsubscribe = append(r.unsubscribe, v)
	case deltaInitial:
		var pair [2][]byte
		if err := fields(v, func(number protowire.Number, v []byte) error {
			if number == 1 || number == 2 {
				pair[number-1] = v
			}
			return nil
		}); err != nil {
			return err
		}
		r.initial = append(r.initial, pair)
	case deltaNonce:
		r.nonce = v
	case deltaError:
		return r.reject(v)
	}
	return nil
}

func (r *request) reject(v []byte) error {
	r.rejected = true
	return fields(v, func(number protowire.Number, v []byte) error {
		if number == statusMessage {
			r.reason = v
		}
		return nil
	})
}

// Fields calls f with each length-delimited field of an encoded message.
func Fields(b []byte, f func(number protowire.Number, value []byte) error) error { return fields(b, f) }

// fields calls f with each length-delimited field.
func fields(b []byte, f func(number protowire.Number, value []byte) error) error {
	for len(b) > 0 {
		number, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if typ != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, typ, b); n < 0 {
				return protowire.ParseError(n)
			}
			b = b[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		if err := f(number, v); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// digestOf returns a digest of the names, which does not depend on their order: some clients keep them in a set. It
// is never 0.
func (r *request) digestOf(seed maphash.Seed) uint64 {
	d := uint64(len(r.names)) << 1
	for _, n := range r.names {
		d += maphash.Bytes(seed, n)
	}
	return d | 1
}

// nodeID returns the id of an encoded node.
func nodeID(node []byte) (id string) {
	_ = fields(node, func(number protowire.Number, v []byte) error { // a malformed node has no id
		if number == nodeIDField {
			id = strings.ToValidUTF8(string(v[:min(len(v), maxNode)]), "\uFFFD")
		}
		return nil
	})
	return id
}

// hasFeature reports whether an encoded node has a client feature.
func hasFeature(node []byte, name string) (has bool) {
	_ = fields(node, func(number protowire.Number, v []byte) error { // a malformed node has no features
		has = has || number == nodeFeatures && string(v) == name
		return nil
	})
	return has
}

// NodeOf returns the encoded node of an encoded request, or nil.
func NodeOf(request []byte, delta bool) (node []byte) {
	want := protowire.Number(wholeNode)
	if delta {
		want = deltaNode
	}
	_ = fields(request, func(number protowire.Number, v []byte) error { // a malformed request fails later
		if number == want {
			node = v
		}
		return nil
	})
	return node
}

// Bounds of texts of clients that are kept, in bytes.
const (
	maxNode   = 256
	maxReason = 1 << 10
)

// answer records an ACK. It reports whether the request may be used: one in state of the world that
// answers an older response is stale. A request is repeated if it acknowledges nothing: its response is answered
// already.
func (s *substream) answer(r *request) (current, repeated bool) {
	if len(r.nonce) == 0 {
		return true, true
	}
	n, err := strconv.ParseUint(string(r.nonce), 36, 64)
	if err == nil && n == s.stream.nonce {
		s.stream.received()
	}
	whole := !s.stream.delta
	switch {
	case err != nil || n > s.nonce:
		return !whole, false
	case r.rejected:
		return !whole || n == s.nonce, false
	}
	repeated = n <= max(s.acked, s.nacked)
	s.acked = max(s.acked, n)
	if n == s.nonce {
		s.last, s.accepted = nil, s.version
	}
	return !whole || n == s.nonce, repeated
}

// reject records a NACK.
func (s *substream) reject(r *request) (source.Rejection, *feed) {
	n, err := strconv.ParseUint(string(r.nonce), 36, 64)
	if err != nil || n > s.nonce || n == 0 {
		return source.Rejection{}, nil
	}
	s.rejected++
	s.kind.counts.Rejections++
	s.nacked = max(s.nacked, n)
	s.stream.cost -= len(s.reason)
	s.reason = strings.ToValidUTF8(string(r.reason[:min(len(r.reason), maxReason)]), "\uFFFD")
	s.stream.cost += len(s.reason)
	report := source.Rejection{Type: s.kind.url, Text: s.reason, Node: s.stream.node}
	from := s.stream.core.feed
	if n == s.nonce {
		s.rejects = s.version
		for _, x := range s.last {
			report.Names = append(report.Names, x.name)
		}
		if len(s.last) == 1 {
			report.Version = s.last[0].version
		}
		s.last = nil
	}
	if len(report.Names) > 0 {
		from = s.stream.core.route(report.Names[0])
	}
	return report, from
}
