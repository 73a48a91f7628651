package adsserver

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
)

// refusal is the text of the error for a name without permission (xRFC TP3).
const refusal = "the client has no permission to subscribe to this type and authority"

// A refusal is the state of a name without permission.
type refusalState uint8

const (
	untold   refusalState = 1 + iota // in substream.untold
	told                             // the client has the error
	pardoned                         // still in substream.untold, but the client has unsubscribed
)

// refuse reports whether the client may not subscribe to a name. It notes the error for the client. The
// earlier refusals are those of the last state-of-the-world request: a client gets an error once.
func (s *substream) refuse(name string, earlier map[string]refusalState) bool {
	if s.stream.allow == nil {
		return false
	}
	name = canonical(name)
	if s.stream.allow(s.kind.url, name) {
		return false
	}
	before := s.refused[name]
	if before == 0 || before == pardoned {
		s.countRefused(1, name)
	}
	if s.refused == nil {
		s.refused = make(map[string]refusalState)
	}
	if earlier[name] == told {
		s.refused[name] = told
		return true
	}
	s.lag()
	s.refused[name] = untold
	switch before {
	case 0, told:
		s.untold = append(s.untold, name)
	case pardoned:
		s.pardons--
	case untold:
	}
	s.stream.touch()
	return true
}

// countRefused adds or removes a name without permission.
func (s *substream) countRefused(n int, name string) {
	s.stream.count(n, name)
	s.stream.cost += n * refusedCost
}

// takeRefused removes and returns all refusals.
func (s *substream) takeRefused() map[string]refusalState {
	refused := s.refused
	for name, state := range refused {
		if state != pardoned {
			s.countRefused(-1, name)
		}
	}
	s.refused, s.untold, s.pardons = nil, nil, 0
	return refused
}

// forgive ends a refused subscription.
func (s *substream) forgive(name string) {
	if len(s.refused) == 0 {
		return
	}
	name = canonical(name)
	switch s.refused[name] {
	case told:
		s.countRefused(-1, name)
		delete(s.refused, name)
	case untold:
		s.countRefused(-1, name)
		s.refused[name] = pardoned
		s.pardons++
		if s.pardons > len(s.untold)/2 { // a client that does not read must not make it grow
			s.untold = slices.DeleteFunc(s.untold, s.settle)
		}
	case pardoned:
	}
}

// settle reports whether the client does not have to be told of a refusal in untold. It forgets a pardoned one.
func (s *substream) settle(name string) bool {
	if s.refused[name] == pardoned {
		delete(s.refused, name)
		s.pardons--
		return true
	}
	return false
}

// owes reports whether the client has to be told of refusals.
func (s *substream) owes() bool { return len(s.untold) > s.pardons }

// buildRefusals returns a response with the errors of refused names. A state-of-the-world response of a
// complete type has all other resources, too.
func (s *substream) buildRefusals() [][]byte {
	if !s.stream.delta && s.kind.Complete {
		return s.buildWhole(true)
	}
	return s.finish(nil, nil)
}

// leastShare is the part of the limit of a response that its refusals may use in any case. A state-of-the-world
// response must have all resources, and may exceed the limit without them.
const leastShare = 8

// room returns how many bytes of refusals a response with these pieces may have.
func (s *substream) room(pieces [][]byte) int {
	limit := s.stream.core.config.Limits.ResponseBytes
	left := limit
	for _, p := range pieces {
		left -= len(p)
	}
	if j := s.stream.joint; j != nil {
		left -= j.size
	}
	if !s.stream.delta && s.kind.Complete {
		left = max(left, limit/leastShare)
	}
	return left
}

// appendRefusals appends the errors that the client was not told, as far as there is room. The others are in
// later responses. A response without resources has at least one, as has one with all resources.
func (s *substream) appendRefusals(b []byte, room int) []byte {
	number := protowire.Number(responseErrors)
	if s.stream.delta {
		number = deltaErrors
	}
	var detail []byte
	detail = protowire.AppendVarint(protowire.AppendTag(detail, statusCode, protowire.VarintType), uint64(codes.PermissionDenied))
	detail = appendString(detail, statusMessage, refusal)
	one := room == s.stream.core.config.Limits.ResponseBytes || !s.stream.delta && s.kind.Complete
	for i, name := range s.untold {
		if s.settle(name) {
			continue
		}
		before := len(b)
		var e []byte
		e = protowire.AppendBytes(appendTag(e, errorName), appendString(nil, 1, name))
		e = protowire.AppendBytes(appendTag(e, errorDetail), detail)
		b = protowire.AppendBytes(appendTag(b, number), e)
		if len(b) > room && (before > 0 || !one) {
			s.untold = s.untold[i:]
			return b[:before]
		}
		s.refused[name] = told
	}
	s.untold = nil
	return b
}
