package lkg

import "time"

// A Writer passes the resources of one authority in one client to the store. One goroutine uses it.
type Writer struct {
	store     *Store
	authority *authority
	// Store.mu guards the following fields.
	uses               map[entryKey]bool
	reachable, settled bool
}

// Writer returns a writer for an authority. Its owner closes it before the store.
func (s *Store) Writer(name Authority) *Writer {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &Writer{store: s, authority: s.authority(name.String()), uses: make(map[entryKey]bool), settled: true}
	w.authority.writers[w] = true
	return w
}

// Apply takes changes into the set. The store keeps the bodies without copying them.
func (w *Writer) Apply(changes []Change) {
	s, a := w.store, w.authority
	s.mu.Lock()
	defer s.mu.Unlock()
	now, begins := s.now(), false
	for i := range changes {
		c := &changes[i]
		key := entryKey{c.Type, c.Name}
		switch c.Op {
		case Put:
			begins = a.put(&c.Resource, w, now) || begins
		case Delete:
			if a.remove(key) {
				begins = a.changed(now) || begins
			}
		case Release:
			a.release(key, w, now)
		}
	}
	if begins {
		s.signal()
	}
}

// SetState reports whether the client has a live server for the authority, and whether its resources
// are complete: the client waits for none of them. The store writes no incomplete resources.
func (w *Writer) SetState(reachable, settled bool) {
	s, a := w.store, w.authority
	s.mu.Lock()
	defer s.mu.Unlock()
	if reachable && settled {
		a.held = false
	}
	if w.reachable == reachable && w.settled == settled {
		return
	}
	was := a.reachable()
	w.reachable, w.settled = reachable, settled
	if was && !a.reachable() {
		a.lost = s.now()
	}
	s.signal()
}

// Close ends the use of all resources of the client.
func (w *Writer) Close() {
	s, a := w.store, w.authority
	s.mu.Lock()
	defer s.mu.Unlock()
	if !a.writers[w] {
		return
	}
	now := s.now()
	for key := range w.uses {
		a.release(key, w, now)
	}
	if w.reachable {
		a.lost = now
	}
	delete(a.writers, w)
	a.held = a.held || !w.settled
}

// signal wakes the goroutine that writes.
func (s *Store) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run writes generations when they are due, until the store closes.
func (s *Store) run() {
	defer close(s.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		if at, ok := s.writeDue(false); ok {
			timer.Reset(at.Sub(s.now()))
		} else {
			timer.Stop()
		}
		select {
		case <-s.wake:
		case <-timer.C:
		case <-s.done:
			s.writeDue(true)
			return
		}
	}
}

// writeDue writes the generations that are due, or all that have changes. It returns when the next
// one is due.
func (s *Store) writeDue(all bool) (next time.Time, ok bool) {
	s.mu.Lock()
	list := make([]*authority, 0, len(s.authorities))
	for _, a := range s.authorities {
		list = append(list, a)
	}
	s.mu.Unlock()
	for _, a := range list {
		s.mu.Lock()
		at, is := a.due(&s.options)
		ready := is && (!at.After(s.now()) || all && (!a.dirtySince.IsZero() || a.touched))
		s.mu.Unlock()
		if ready {
			s.write(a)
			s.mu.Lock()
			at, is = a.due(&s.options)
			s.mu.Unlock()
		}
		if is && (!ok || at.Before(next)) {
			next, ok = at, true
		}
	}
	return next, ok
}

// write writes a generation of an authority.
func (s *Store) write(a *authority) {
	s.mu.Lock()
	now := s.now()
	a.prune(&s.options, now)
	err := a.checkFits(&s.options)
	entries := make([]*entry, 0, len(a.entries))
	g := &generation{header: header{Node: s.node, Authority: a.name, Written: now.UnixMilli()}}
	if err == nil {
		g.resources = make([]Resource, 0, len(a.entries))
		for _, e := range a.entries {
			entries, g.resources = append(entries, e), append(g.resources, a.resource(e, now))
		}
	}
	changes, sequence := a.changes, a.sequence
	s.mu.Unlock()

	omitted, size := 0, int64(0)
	if err == nil {
		omitted = s.omitSecrets(g, entries)
		size, err = s.writeFile(a.prefix, g, sequence)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now = s.now()
	if err != nil {
		s.failed(a, err, now)
		return
	}
	if a.err != nil {
		s.options.Logger.Info("the last known good store is written again", "dir", s.options.Dir, "authority", a.name)
	}
	a.err, a.retryAt, a.touched = nil, time.Time{}, false
	a.sequence, a.written, a.size, a.omitted = g.header.Sequence, now, size, omitted
	a.writes++
	if a.dirtySince = now; a.changes == changes {
		a.dirtySince = time.Time{}
	}
}

// failed records a failed write. The log has one line for each different reason.
func (s *Store) failed(a *authority, err error, now time.Time) {
	if a.err == nil || a.err.Error() != err.Error() {
		s.options.Logger.Warn("the last known good store cannot be written", "dir", s.options.Dir, "authority", a.name, "error", err)
	}
	a.err, a.retryAt = err, now.Add(s.options.MaxDelay)
	a.failures++
}

// omitSecrets removes resources with secrets unless the file is encrypted. It returns their number.
func (s *Store) omitSecrets(g *generation, entries []*entry) (omitted int) {
	if len(s.options.Key) > 0 {
		return 0
	}
	public := g.resources[:0]
	for i, e := range entries {
		if e.secret == unchecked {
			e.secret = isPublic
			if s.secrets.In(g.resources[i].Type, g.resources[i].Body) {
				e.secret = isSecret
			}
		}
		if e.secret == isPublic {
			public = append(public, g.resources[i])
		}
	}
	omitted = len(g.resources) - len(public)
	g.resources = public
	return omitted
}

// writeFile writes a generation with the next sequence number, and removes the oldest ones.
func (s *Store) writeFile(prefix string, g *generation, last uint64) (size int64, err error) {
	err = s.dir.Acquire()
	s.mu.Lock()
	s.readOnly = err
	s.mu.Unlock()
	if err != nil {
		return 0, err
	}
	if files := s.dir.files(prefix); len(files) > 0 {
		last = max(last, files[0]) // another process may have written since
	}
	g.header.Sequence = last + 1
	content, err := g.encode(s.options.Key)
	if err != nil {
		return 0, err
	}
	if err := s.dir.Write(fileName(prefix, g.header.Sequence), content); err != nil {
		return 0, err
	}
	s.dir.prune(prefix, s.options.Keep)
	return int64(len(content)), nil
}
