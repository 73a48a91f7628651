package adsserver

import (
	"slices"

	"github.com/xdsforge/xdsforge/framework/source"
)

// sotwRequest replaces the names of the type. Without names, a request asks for everything, unless
// an earlier one on the stream had names.
func (s *substream) sotwRequest(r *request) error {
	c := s.stream.core
	digest := r.digestOf(c.seed)
	if digest == s.names {
		return nil
	}
	if err := s.checkNames(r.names); err != nil {
		return err
	}
	s.names = digest
	s.explicit = s.explicit || len(r.names) > 0
	refused := s.takeRefused()
	if !s.explicit && !s.refuse(source.Wildcard, refused) {
		s.named(source.Wildcard)
	}
	for _, n := range r.names {
		if name := string(n); !s.refuse(name, refused) {
			s.named(name)
		}
	}
	s.merge()
	s.sweep()
	return s.checkCount()
}

// named subscribes to a name, or marks the subscription that exists.
func (s *substream) named(name string) {
	if isCollection(name) {
		for i := range s.lists {
			if s.lists[i].list.name == name {
				s.lists[i].named = true
				return
			}
		}
	}
	if e := s.kind.entries[name]; e != nil {
		if p := s.find(e); p != nil && p.flags.has(byName) {
			p.flags |= named
			return
		}
	}
	s.subscribe(name, named)
}

// sweep ends the subscriptions that the last request did not mark, and clears the marks.
func (s *substream) sweep() {
	for i := range s.subs {
		p := &s.subs[i]
		if p.flags.has(byName) && !p.flags.has(named) {
			s.dropName(p)
		}
		p.flags &^= named
	}
	for i := len(s.lists) - 1; i >= 0; i-- {
		if !s.lists[i].named {
			s.dropList(i)
		} else {
			s.lists[i].named = false
		}
	}
	s.compact()
}

// checkNames checks the bounds of the names of a request.
func (s *substream) checkNames(names [][]byte) error {
	limits := s.stream.core.config.Limits
	if len(names) > limits.Names {
		return &LimitError{Limit: "names", Value: len(names), Max: limits.Names, Option: "Limits.Names"}
	}
	for _, n := range names {
		if len(n) > limits.NameBytes {
			return &LimitError{Limit: "length of a name", Value: len(n), Max: limits.NameBytes, Option: "Limits.NameBytes"}
		}
	}
	return nil
}

// checkCount checks the number of subscriptions of the stream and of its client.
func (s *substream) checkCount() error {
	st, limits := s.stream, &s.stream.core.config.Limits
	switch {
	case st.names > limits.Names:
		return &LimitError{Limit: "names", Value: st.names, Max: limits.Names, Option: "Limits.Names"}
	case st.nameBytes > limits.TotalBytes:
		return &LimitError{Limit: "bytes of all names", Value: st.nameBytes, Max: limits.TotalBytes, Option: "Limits.TotalBytes"}
	}
	return st.charge()
}

// whole returns the batch of a response with all subscribed resources of a complete type. It
// returns ok = false as long as not everything is known: a name that is missing in the response does
// not exist.
func (s *substream) whole() (batch []*content, ok bool) {
	if s.waiting > 0 {
		return nil, false
	}
	batch = s.stream.core.batch[:0]
	ended := false
	for i := range s.subs {
		p := &s.subs[i]
		x := p.entry.content
		p.flags &^= resend
		if x == nil {
			p.stamp = 0
			if !p.flags.has(byName) {
				ended = true
				s.drop(p)
			}
			continue
		}
		p.stamp = x.stamp
		batch = appendOnce(batch, x)
	}
	if ended {
		s.compact()
	}
	for i := range s.lists {
		s.lists[i].told = true
	}
	s.dirty, s.beats = shrink(s.dirty), nil
	s.puts, s.gone = false, false
	return batch, true
}

// appendOnce appends a content unless it is there under another alias.
func appendOnce(batch []*content, x *content) []*content {
	if len(x.aliases) > 0 && slices.Contains(batch, x) {
		return batch
	}
	return append(batch, x)
}

// shrink empties a list, and keeps little memory.
func shrink(list []*entry) []*entry {
	if cap(list) > 16 {
		return nil
	}
	clear(list)
	return list[:0]
}
