package files

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A Dir is the [source.Source] of a directory. It is safe for concurrent use. Close it after use.
type Dir struct {
	path    string
	options Options
	memory  *source.Memory
	ctx     context.Context //nolint:containedctx // ends with Close
	cancel  context.CancelFunc
	done    chan struct{}
	types   map[string]bool // registered, by the full name of the message
	opened  time.Time

	// The goroutine of run owns these.
	applied  *look              // nil: nothing was applied yet
	files    map[string]*file   // by name
	waiting  map[string]pending // changed files that are not complete yet
	warned   map[string]mark    // files that were changed in place, and are not read
	has      map[source.Key]source.Resource
	state    source.State // of what was applied
	complete bool         // the names of all files were known at once, at some time
	inPart   bool         // the memory has an epoch of a directory that is known in part

	mu            sync.Mutex
	problems      []error
	rejectedSince time.Time // the minute of rejections
	rejections    int
}

// A pending is a changed file that may still be written to.
type pending struct {
	mark
	since time.Time // of our clock: the file has not changed for longer
}

// A file is the last valid version of a file, and its newest error.
type file struct {
	mark      mark
	resources []source.Resource
	broken    map[source.Key]string // errors of the named resources that are not in resources
	unknown   bool                  // it may have resources whose names are not known
	err       error
}

var _ source.Source = (*Dir)(nil)

// Open starts to follow a directory. A directory that cannot be read now is down until it can be.
func Open(path string, o Options) (*Dir, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("files: %w", err)
	}
	d := &Dir{
		path: abs, options: o.withDefaults(), memory: source.NewMemory(), done: make(chan struct{}), opened: time.Now(),
		files: make(map[string]*file), waiting: make(map[string]pending), warned: make(map[string]mark),
		has: make(map[source.Key]source.Resource), types: typesOf(o.Types),
	}
	d.memory.SetState(source.State{})
	d.memory.OnReport(d.rejected)
	d.ctx, d.cancel = context.WithCancel(context.Background())
	go d.run()
	return d, nil
}

// Open implements [source.Source].
func (d *Dir) Open(ctx context.Context, sink source.Sink) (source.Session, error) {
	return d.memory.Open(ctx, partSink{sink})
}

// Close ends following the directory. Sessions keep their resources.
func (d *Dir) Close() error {
	d.cancel()
	<-d.done
	return nil
}

// Problems returns why files are not used, in the order of their names.
func (d *Dir) Problems() []error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.problems)
}

// maxRejections is the limit of lines about NACKs in a minute.
const maxRejections = 10

// rejected logs the NACK of a client. Clients choose the texts, so the lines have a limit.
func (d *Dir) rejected(r source.Rejection) {
	d.mu.Lock()
	now := time.Now()
	if now.Sub(d.rejectedSince) >= time.Minute {
		d.rejectedSince, d.rejections = now, 0
	}
	d.rejections++
	n := d.rejections
	d.mu.Unlock()
	switch {
	case n <= maxRejections:
		d.options.Logger.Warn("a client rejected resources of files", "directory", d.path, "type", r.Type,
			"names", printable.Text(fmt.Sprint(r.Names), printable.Quoted), "error", printable.Text(r.Text, printable.Whole))
	case n == maxRejections+1:
		d.options.Logger.Warn("further rejections are not logged", "directory", d.path, "for", time.Minute)
	}
}

// run follows the directory until Close.
func (d *Dir) run() {
	ctx := d.ctx
	defer close(d.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		start := time.Now()
		again := d.refresh(ctx)
		pause := max(d.options.Poll, 10*time.Since(start))
		if again {
			pause = min(pause, d.options.Quiet)
		}
		timer.Reset(pause)
	}
}

// refresh looks at the directory and applies a change. It reports whether to look again soon.
func (d *Dir) refresh(ctx context.Context) (again bool) {
	before, err := d.scan()
	if err != nil {
		d.down(err)
		return false
	}
	if len(before.files)+len(before.bad) == 0 {
		d.down(errNoFiles)
		return false
	}
	if d.applied != nil && d.applied.equal(before) && len(d.waiting) == 0 {
		d.memory.SetState(d.state)
		return false
	}
	var next map[string]*file
	next, d.waiting = d.read(before)
	after, err := d.scan()
	if err != nil || !before.equal(after) {
		return true // it changed meanwhile
	}
	if len(d.waiting) > 0 {
		return true // the files of one change are applied together
	}
	d.apply(ctx, before, next)
	return false
}

// down reports that the directory cannot be used.
func (d *Dir) down(err error) {
	d.memory.SetState(source.State{Kind: source.Down, Err: fmt.Errorf("files: %w", err)})
}

// read reads the changed files. It returns the new state of all files, and those that are not
// complete yet.
func (d *Dir) read(l *look) (next map[string]*file, waiting map[string]pending) {
	next, waiting = make(map[string]*file, len(l.files)), make(map[string]pending)
	now := time.Now()
	for _, name := range l.names() {
		m, old := l.files[name], d.files[name]
		p := d.pending(name, m, now)
		switch {
		case old != nil && old.mark == m:
			next[name] = old
		case d.options.MovesOnly && old != nil && old.mark.inode == m.inode && !l.swap:
			next[name] = old
			d.inPlace(name, m)
		case !l.swap && now.Sub(p.since) < d.options.Quiet:
			waiting[name] = p
		default:
			next[name] = d.load(l, name, m, old)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.bad)) {
		d.keepBelow(next, name, l.bad[name])
	}
	return next, waiting
}

// pending returns since when a file has not changed. The clock of the writer may differ from ours, so that its time counts only
// for the files that are there at the start.
func (d *Dir) pending(name string, m mark, now time.Time) pending {
	p, seen := d.waiting[name]
	switch {
	case seen && p.mark == m:
		return p
	case !seen && d.applied == nil && m.mtime.Before(now):
		return pending{m, m.mtime}
	}
	return pending{m, now}
}

// inPlace logs once that a file is not read because it was changed in place.
func (d *Dir) inPlace(name string, m mark) {
	if d.warned[name] != m {
		d.warned[name] = m
		d.options.Logger.Warn("file changed in place is not read", "file", filepath.Join(d.path, name),
			"advice", "move a complete file over it")
	}
}

// load reads a file. A file with an error keeps the resources of its last valid version.
func (d *Dir) load(l *look, name string, m mark, old *file) *file {
	f := &file{mark: m}
	path := filepath.Join(l.root, name)
	data, err := d.content(path, m)
	f.unknown = err != nil
	if err == nil {
		err = d.parse(f, name, data)
	}
	if err != nil {
		if f.err = err; old != nil {
			f.keep(old)
		}
		d.options.Logger.Warn("file rejected", "file", filepath.Join(d.path, name), "error", printable.Text(err.Error(), printable.Whole))
	}
	return f
}

func (d *Dir) content(path string, m mark) ([]byte, error) {
	if m.size > d.options.MaxFileBytes {
		return nil, fmt.Errorf("%s: size = %d bytes; must not be more than %d (MaxFileBytes)", filepath.Base(path), m.size, d.options.MaxFileBytes)
	}
	if d.options.CheckOwner {
		if err := checkOwner(path); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(path)
}

// apply commits the resources of all files in one transaction.
func (d *Dir) apply(ctx context.Context, l *look, next map[string]*file) {
	has, origin := make(map[source.Key]source.Resource), make(map[source.Key]string)
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(next)) {
		f := next[name]
		if f.err != nil {
			problems = append(problems, f.err)
		}
		for _, r := range f.resources {
			if first, twice := origin[r.Key]; twice {
				problems = append(problems, fmt.Errorf("%s: %s; must be in one file only, and is also in %s, which is used", name, r.Key, first))
				continue
			}
			has[r.Key], origin[r.Key] = r, name
		}
	}
	for _, name := range slices.Sorted(maps.Keys(next)) {
		for k, text := range next[name].broken {
			if _, ok := has[k]; !ok {
				has[k] = refusal(k, text)
			}
		}
	}
	unread := unknown(next)
	if len(unread) > 0 {
		if err := d.hold(has, unread); err != nil {
			problems = append(problems, err)
		}
	}
	tx := new(source.Tx)
	for k, r := range has {
		if old, ok := d.has[k]; !ok || old.Version != r.Version {
			tx.Put(r)
		}
	}
	for k := range d.has {
		if _, ok := has[k]; !ok {
			tx.Delete(k)
		}
	}
	inPart := !d.complete && len(unread) > 0
	if err := d.commit(ctx, tx, inPart); err != nil {
		if !errors.Is(err, context.Canceled) {
			d.down(err)
		}
		return
	}
	d.applied, d.files, d.has, d.complete = l, next, has, !inPart
	d.mu.Lock()
	d.problems = problems
	d.mu.Unlock()
	if d.state = (source.State{Kind: source.Live}); inPart {
		d.state = d.partState(unread, next)
	}
	d.memory.SetState(d.state)
}
