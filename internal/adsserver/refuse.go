package adsserver

import (
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
)

// refusal is the text of the error for a name without permission (xRFC TP3).
const refusal = "the client has no permission to subscribe to this type and authority"

// refuse reports whether the client may not subscribe to a name. It notes the error for the client. The
// earlier refusals are those of the last state-of-the-world request: a client gets an error once.
func (s *substream) refuse(name string, earlier map[string]bool) bool {
	if s.stream.allow == nil {
		return false
	}
	name = canonical(name)
	if s.stream.allow(s.kind.url, name) {
		return false
	}
	if _, known := s.refused[name]; !known {
		s.stream.count(1, name)
	}
	if s.refused == nil {
		s.refused = make(map[string]bool)
	}
	s.refused[name] = earlier[name]
	if !earlier[name] {
		s.lag()
		s.untold = true
		s.stream.touch()
	}
	return true
}

// takeRefused removes and returns all refusals.
func (s *substream) takeRefused() map[string]bool {
	refused := s.refused
	for name := range refused {
		s.stream.count(-1, name)
	}
	s.refused, s.untold = nil, false
	return refused
}

// forgive ends a refused subscription.
func (s *substream) forgive(name string) {
	if len(s.refused) == 0 {
		return
	}
	name = canonical(name)
	if _, ok := s.refused[name]; ok {
		s.stream.count(-1, name)
		delete(s.refused, name)
	}
}

// buildRefusals returns a response with the errors of refused names, or nil. A state-of-the-world
// response of a complete type has all other resources, too.
func (s *substream) buildRefusals() [][]byte {
	if !s.stream.delta && s.kind.Complete {
		return s.buildWhole()
	}
	if !slices.Contains(slices.Collect(maps.Values(s.refused)), false) {
		s.untold = false
		return nil
	}
	return s.finish(nil, nil)
}

// appendRefusals appends the errors that the client was not told.
func (s *substream) appendRefusals(b []byte) []byte {
	number := protowire.Number(responseErrors)
	if s.stream.delta {
		number = deltaErrors
	}
	var detail []byte
	detail = protowire.AppendVarint(protowire.AppendTag(detail, statusCode, protowire.VarintType), uint64(codes.PermissionDenied))
	detail = appendString(detail, statusMessage, refusal)
	for _, name := range slices.Sorted(maps.Keys(s.refused)) {
		if s.refused[name] {
			continue
		}
		s.refused[name] = true
		var e []byte
		e = protowire.AppendBytes(appendTag(e, errorName), appendString(nil, 1, name))
		e = protowire.AppendBytes(appendTag(e, errorDetail), detail)
		b = protowire.AppendBytes(appendTag(b, number), e)
	}
	s.untold = false
	return b
}
