package lkg

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/internal/durable"
)

// ErrOtherNode is in the error of a directory that belongs to another node.
var ErrOtherNode = errors.New("the directory belongs to another node")

// A Store keeps the last resources that clients had in use, in memory and on disk. It is safe for
// concurrent use. The owner closes it after the clients that use it.
type Store struct {
	options Options
	node    Node
	dir     *directory

	mu          sync.Mutex
	authorities map[string]*authority
	readOnly    error // the reason why the store does not write
	closed      bool

	wake  chan struct{} // has a token when a write may be due earlier than before
	done  chan struct{}
	ended chan struct{}
	now   func() time.Time

	secrets durable.Secrets // belongs to the goroutine that writes
}

// Open opens a directory and reads the newest intact generation of each authority. A directory that
// others could write to (ErrUnsafe) or that belongs to another node (ErrOtherNode) is an error. If
// another process writes to the directory, or nobody can, the store only reads it, until a later
// attempt to write succeeds.
func Open(o Options, node Node) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	dir, err := openDirectory(o.Dir)
	if err != nil {
		return nil, err
	}
	s := &Store{
		options: o, node: node, dir: dir, authorities: make(map[string]*authority),
		wake: make(chan struct{}, 1), done: make(chan struct{}), ended: make(chan struct{}),
		now: time.Now, secrets: durable.NewSecrets(),
	}
	if err := dir.Acquire(); err != nil {
		s.readOnly = err
		o.Logger.Warn("the last known good store is read-only", "dir", o.Dir, "error", err)
	}
	if err := s.load(); err != nil {
		_ = dir.Close()
		return nil, err
	}
	go s.run()
	return s, nil
}

// load reads the newest intact generation of each authority.
func (s *Store) load() error {
	for _, name := range s.dir.List() {
		prefix, _, ok := parseName(name)
		if !ok || s.loaded(prefix) {
			continue
		}
		if err := s.loadNewest(prefix); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) loaded(prefix string) bool {
	for _, a := range s.authorities {
		if a.prefix == prefix {
			return true
		}
	}
	return false
}

// loadNewest reads the newest intact generation of an authority. It logs the others, and returns an
// error only if the directory belongs to another node.
func (s *Store) loadNewest(prefix string) error {
	for _, seq := range s.dir.files(prefix) {
		name := fileName(prefix, seq)
		g, size, err := s.read(name, prefix)
		switch {
		case errors.Is(err, os.ErrNotExist): // another process has replaced it
			continue
		case errors.Is(err, ErrOtherNode):
			return fmt.Errorf("lkg: Dir = %q; %w", s.options.Dir, err)
		case err != nil:
			s.options.Logger.Warn("a file of the last known good store is not usable", "dir", s.options.Dir, "file", name, "error", err)
			continue
		}
		a := s.authority(g.header.Authority)
		a.sequence, a.size, a.written = g.header.Sequence, size, time.UnixMilli(g.header.Written)
		now := s.now()
		for i := range g.resources {
			if r := &g.resources[i]; r.usable(&s.options, now) {
				a.store(entryKey{r.Type, r.Name}, &entry{Resource: *r})
			}
		}
		return nil
	}
	return nil
}

// read reads a file and checks that it is the one that its name says.
func (s *Store) read(name, prefix string) (g *generation, size int64, err error) {
	b, err := s.dir.Read(name, fileLimit(s.options.MaxBytes))
	if err != nil {
		return nil, 0, err
	}
	size = int64(len(b))
	g, err = decodeGeneration(b, s.options.Key)
	switch {
	case err != nil:
		return nil, 0, err
	case g.header.Node != s.node:
		return nil, 0, fmt.Errorf("%w: node = %q of cluster %q; must be %q of cluster %q (give each node a directory of its own)",
			ErrOtherNode, g.header.Node.ID, g.header.Node.Cluster, s.node.ID, s.node.Cluster)
	case prefixOfName(g.header.Authority) != prefix || fileName(prefix, g.header.Sequence) != name:
		return nil, 0, errors.New("the file has the name of another one")
	}
	return g, size, nil
}

// fileLimit returns the limit of a file with resources of the given size.
func fileLimit(size int64) int64 { return size + size/16 + durable.MaxHeader }

// authority returns the set of an authority. The caller holds s.mu or is alone.
func (s *Store) authority(name string) *authority {
	a := s.authorities[name]
	if a == nil {
		a = &authority{name: name, prefix: prefixOfName(name), entries: make(map[entryKey]*entry), writers: make(map[*Writer]bool)}
		s.authorities[name] = a
	}
	return a
}

// Lookup returns a resource or a collection by the name under which it was watched. It is false if
// the store does not have it, or if it is too old.
func (s *Store) Lookup(name Authority, typ, resource string) (Resource, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.authorities[name.String()]
	if a == nil {
		return Resource{}, false
	}
	e := a.entries[entryKey{typ, resource}]
	if e == nil {
		return Resource{}, false
	}
	now := s.now()
	r := a.resource(e, now)
	ok := r.usable(&s.options, now)
	return r, ok
}

// Members returns the resources of a type, without collections, for which the function is true.
func (s *Store) Members(name Authority, typ string, contains func(name string) bool) []Resource {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.authorities[name.String()]
	if a == nil {
		return nil
	}
	now := s.now()
	var list []Resource
	for _, e := range a.entries {
		if e.Type != typ || e.Collection || !contains(e.Name) {
			continue
		}
		if r := a.resource(e, now); r.usable(&s.options, now) {
			list = append(list, r)
		}
	}
	return list
}

// Reject drops a stored resource that today's decoder rejects. It has no effect on a newer version.
func (s *Store) Reject(name Authority, typ, resource, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.authorities[name.String()]
	if a == nil {
		return
	}
	key := entryKey{typ, resource}
	if e := a.entries[key]; e != nil && e.users == 0 && e.Version == version {
		a.remove(key)
		a.dropped++
	}
}

// Close writes the changes that are complete, and releases the directory.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	close(s.done)
	<-s.ended
	return s.dir.Close()
}
