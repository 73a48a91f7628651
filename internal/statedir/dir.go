package statedir

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/durable"
)

// Options set up a [Dir].
type Options struct {
	// Path is the directory. It must belong to the user of the process, and nobody else may write to it. Open
	// creates it with mode 0700 if it does not exist.
	Path string
	// Key encrypts and authenticates the files. It has at least [MinKey] random bytes. Without it, resources
	// with secrets are not written.
	Key []byte
	// Quiet is the time without changes after which the resources are written. Default 2 s.
	Quiet time.Duration
	// MaxDelay is the longest time for which changes are kept back while others follow. It is also the pause
	// after a failed write, and the time between two confirmations of resources that do not change. Default 30 s.
	MaxDelay time.Duration
	// Logger gets the problems of the directory.
	Logger *slog.Logger
}

const (
	// MinKey is the least length of a key in bytes.
	MinKey = 16
	// MaxBytes is the limit of the size of a file.
	MaxBytes = 1 << 30

	defaultQuiet    = 2 * time.Second
	defaultMaxDelay = 30 * time.Second
)

// A Dir is a directory with the resources of sources. [Open] returns one. Close it after its sources.
type Dir struct {
	options Options

	mu      sync.Mutex // guards the files and the recorders
	files   *durable.Dir
	secrets durable.Secrets
	records []*recorder
}

// Open opens a directory.
func Open(o Options) (*Dir, error) {
	if o.Path == "" {
		return nil, errors.New(`directory = ""; must name a directory`)
	}
	if n := len(o.Key); n > 0 && n < MinKey {
		return nil, fmt.Errorf("key = %d bytes; must have at least %d", n, MinKey)
	}
	o.Quiet, o.MaxDelay = cmp.Or(o.Quiet, defaultQuiet), cmp.Or(o.MaxDelay, defaultMaxDelay)
	files, err := durable.Open(o.Path)
	if err != nil {
		return nil, err
	}
	d := &Dir{options: o, files: files, secrets: durable.NewSecrets()}
	if err := files.Acquire(); err != nil {
		o.Logger.Warn("the state directory is read-only", "dir", o.Path, "error", err)
	}
	return d, nil
}

// Source returns a source with the resources of another one, and with those of the directory until the other one
// has reported its own. The id tells the sources of a server apart.
func (d *Dir) Source(id string, inner source.Source) (source.Source, error) {
	r := newRecorder(d, id, nameOf(id))
	s := &kept{inner: inner}
	r.known = func() { s.old.Store(nil) }
	d.mu.Lock()
	snap, err := d.read(r.file, id)
	d.records = append(d.records, r)
	d.mu.Unlock()
	switch {
	case err == nil:
		s.old.Store(snap)
		inner = valid{inner, newLastValid(snap)}
		s.inner = inner
	case !errors.Is(err, fs.ErrNotExist):
		d.options.Logger.Warn("a file of the state directory is not usable", "dir", d.options.Path, "file", r.file, "error", err)
	}
	session, err := inner.Open(r.ctx, r)
	if err != nil {
		return nil, err
	}
	session.Want([]source.Interest{{}}, nil)
	r.running.Go(r.run)
	return s, nil
}

// nameOf returns the name of the file of a source.
func nameOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8]) + ".state"
}

// read reads the file of a source.
func (d *Dir) read(name, id string) (*snapshot, error) {
	b, err := d.files.Read(name, MaxBytes)
	if err != nil {
		return nil, err
	}
	s, err := decode(b, d.options.Key)
	if err != nil {
		return nil, err
	}
	if s.header.Source != id {
		return nil, errors.New("the file has the name of another one")
	}
	s.since = time.UnixMilli(s.header.Written)
	if t, err := d.files.Time(name); err == nil && t.After(s.since) {
		s.since = t
	}
	if now := time.Now(); s.since.After(now) {
		s.since = now // the clock was set back
	}
	return s, nil
}

// write writes the file of a source. It returns the number of resources with secrets, which it leaves out.
func (d *Dir) write(name string, s *snapshot) (omitted int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.files.Acquire(); err != nil {
		return 0, err
	}
	if len(d.options.Key) == 0 {
		public := s.resources[:0]
		for i := range s.resources {
			if r := &s.resources[i]; r.Err != nil || !d.secrets.In(messageOf(r.Type), r.Body) {
				public = append(public, *r)
			}
		}
		omitted, s.resources = len(s.resources)-len(public), public
	}
	b, err := s.encode(d.options.Key)
	if err != nil {
		return omitted, err
	}
	if err := d.files.Write(name, b); err != nil {
		return omitted, err
	}
	return omitted, d.files.SetTime(name, time.UnixMilli(s.header.Written))
}

// confirm notes that the resources of a file were current at a time.
func (d *Dir) confirm(name string, at time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.files.Acquire(); err != nil {
		return err
	}
	return d.files.SetTime(name, at)
}

// Close writes what is not written yet, and closes the directory.
func (d *Dir) Close() error {
	d.mu.Lock()
	records := d.records
	d.records = nil
	d.mu.Unlock()
	for _, r := range records {
		r.close()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.files.Close()
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
