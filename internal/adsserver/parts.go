package adsserver

import "slices"

// defaultPart is the number of names that a stream handles before others may have the lock of the core. It takes
// less than a millisecond.
const defaultPart = 256

// breathe lets others have the lock. What the event has done so far is visible to them.
func (c *Core) breathe() {
	c.flush()
	c.wake()
	c.mu.Unlock()
	c.between()
	c.mu.Lock()
}

// pause lets others have the lock, and returns the reason if the stream has ended meanwhile. The stream sends
// nothing before its request is handled.
func (st *Stream) pause() error {
	st.paused = true
	st.core.breathe()
	return st.err
}

// inParts calls f with each name, and after with each part of them. It returns the error of after, or the reason if the stream
// has ended meanwhile.
func (st *Stream) inParts(names [][]byte, f func(name string), after func() error) error {
	for len(names) > 0 {
		n := min(st.core.part, len(names))
		for _, name := range names[:n] {
			f(string(name))
			if st.err != nil {
				return st.err
			}
		}
		if err := after(); err != nil {
			return err
		}
		if names = names[n:]; len(names) > 0 {
			if err := st.pause(); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachPart calls f with all subscriptions, and then between for each part of them. Others may have the lock in
// between. An error of between ends it.
func (s *substream) eachPart(f func(p *sub), between func() error) error {
	for id, more := uint64(0), true; more; {
		n := 0
		more = false
		for p := range s.subs.from(id) {
			if n == s.stream.core.part {
				id, more = p.id, true
				break
			}
			n++
			f(p)
		}
		s.subs.compact()
		if more {
			if err := between(); err != nil {
				return err
			}
		}
	}
	return nil
}

// A joining is a collection whose members become members of a stream, from the last to the first. New members
// join by themselves. A member takes the place of one that is released: it is among those that have joined.
type joining struct {
	list  *collection
	flags flags
	left  int // members that have not joined
}

// joinMembers subscribes to the members of new collections.
func (s *substream) joinMembers() error {
	for n := 0; len(s.joining) > 0; {
		last := len(s.joining) - 1
		j := &s.joining[last]
		members := j.list.members
		end := min(j.left, len(members))
		begin := max(0, end-s.stream.core.part)
		for _, e := range members[begin:end] {
			if e.content != nil {
				s.add(e, j.flags)
			}
		}
		s.merge()
		if j.left = begin; begin == 0 {
			s.joining = s.joining[:last]
		}
		if n += 1 + end - begin; n >= s.stream.core.part && len(s.joining) > 0 {
			n = 0
			if err := s.stream.pause(); err != nil {
				return err
			}
		}
	}
	s.joining = nil
	return nil
}

// sweepLists drops the collections that the last request did not mark, and clears the marks. leaveLists must follow.
func (s *substream) sweepLists() error {
	for i, l := range slices.Backward(s.lists) {
		if !l.named {
			s.dropList(l) // moves one that was visited
		} else {
			l.named = false
		}
		if i > 0 && i%s.stream.core.part == 0 {
			if err := s.stream.pause(); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropList ends the subscription to a collection. leaveLists must follow.
func (s *substream) dropList(l *listSub) {
	last := len(s.lists) - 1
	moved := s.lists[last]
	s.lists[l.place], moved.place = moved, l.place
	s.lists[last] = nil
	s.lists = s.lists[:last]
	s.stream.count(-1, l.list.name)
	s.stream.cost -= collectionCost
	s.stream.collections--
	if l.waits {
		s.known(l.list.feed)
	}
	delete(l.list.streams, s)
	l.list.leaving = append(l.list.leaving, s)
	s.leaving = append(s.leaving, l.list)
}

// dropLists ends the subscriptions to all collections of a stream that has ended.
func (s *substream) dropLists(breathe func() error) {
	for i, p := range slices.Backward(s.lists) {
		l := p.list
		s.lists[i], s.lists = nil, s.lists[:i]
		delete(l.streams, s)
		l.leaving = append(l.leaving, s)
		s.leaving = append(s.leaving, l)
		if i > 0 && i%s.stream.core.part == 0 {
			_ = breathe() // it returns no error
		}
	}
	s.lists = nil
}

// leaveLists drops the members of the collections from which the client has unsubscribed. The interest in a
// collection ends after them, because they are kept current by it. While it pauses, another stream may do the same; see
// clear.
func (s *substream) leaveLists(pause func() error) error {
	const looks = 4 // at subscriptions, for the cost of finding a member
	leaving := slices.Clone(s.leaving)
	members := 0
	for _, l := range leaving {
		members += len(l.members)
	}
	var err error
	if members*looks < s.subs.n {
		err = s.leaveMembers(leaving, pause)
	} else if members > 0 {
		err = s.eachPart(s.leaveMember, pause)
	}
	if err == nil {
		err = s.forgetLists(leaving, pause)
	}
	return err
}

// leaveMembers finds the subscriptions by the members of the collections.
func (s *substream) leaveMembers(leaving []*collection, pause func() error) error {
	n := 0
	for _, l := range leaving {
		for left := len(l.members); left > 0; {
			left = min(left, len(l.members)) - 1
			if left < 0 {
				break
			}
			if p := s.find(l.members[left]); p != nil {
				s.leaveMember(p)
			}
			n++
			if n%s.stream.core.part == 0 {
				s.subs.compact()
				if err := pause(); err != nil {
					return err
				}
			}
		}
	}
	s.subs.compact()
	return nil
}

// leaveMember drops a subscription if it belongs only to a collection from which the client has unsubscribed.
func (s *substream) leaveMember(p *sub) {
	if !p.flags.has(member) || p.entry.collection.streams[s] != nil {
		return
	}
	if p.flags &^= member; !p.flags.has(byName) {
		s.drop(p)
	}
}

// forgetLists ends the interests in the collections whose members the stream has dropped. They are the first ones that it
// leaves, apart from those that are forgotten already. Others may have the lock between parts of them.
func (s *substream) forgetLists(left []*collection, pause func() error) error {
	for i, l := range left {
		if i > 0 && i%s.stream.core.part == 0 {
			if err := pause(); err != nil {
				return err
			}
		}
		if len(s.leaving) == 0 || s.leaving[0] != l {
			continue
		}
		s.leaving[0] = nil
		s.leaving = s.leaving[1:]
		l.leaving = slices.DeleteFunc(l.leaving, func(o *substream) bool { return o == s })
		if len(l.streams)+len(l.leaving) == 0 {
			l.feed.want(s.kind, l.name, drop)
			s.stream.core.drop(&l.asked)
		}
		s.stream.core.dropCollection(s.kind, l)
	}
	if len(s.leaving) == 0 {
		s.leaving = nil
	}
	return nil
}

// abandoned reports whether streams are leaving a collection to which no other one subscribes. A new subscription must
// then begin anew, because the members go one after the other.
func (k *kind) abandoned(name string) bool {
	l := k.collections[name]
	return l != nil && len(l.streams) == 0 && len(l.leaving) > 0
}

// clear has the streams finish that are leaving an abandoned collection. Others, and these streams, have the lock in
// between. It returns the reason if the stream of s has ended meanwhile.
func (s *substream) clear(name string) error {
	for s.kind.abandoned(name) {
		if err := s.kind.collections[name].leaving[0].leaveLists(s.stream.pause); err != nil {
			return err
		}
	}
	return nil
}
