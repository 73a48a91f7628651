package xdsd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/lkg"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/source/files"
	"github.com/xdsforge/xdsforge/internal/partial"
	"github.com/xdsforge/xdsforge/relay"
	"github.com/xdsforge/xdsforge/store/etcd"
)

// An origin is an open source of the daemon.
type origin struct {
	authority string
	name      string // as the user wrote it
	source    source.Source
	dir       *files.Dir   // or nil
	store     *etcd.Store  // or nil
	relay     *relay.Relay // or nil
	closers   []io.Closer  // in the order of use

	mu    sync.Mutex
	state source.State
}

// close releases a source.
func (o *origin) close() {
	for _, c := range slices.Backward(o.closers) {
		_ = c.Close() // nothing was written
	}
}

// upstreamPrefix begins the name of a source that is the bootstrap file of control planes.
const upstreamPrefix = "upstream:"

// open opens a source: "etcd://…", "upstream:FILE", or a folder.
func (a *app) open(authority, spec string, f *serveFlags) (*origin, error) {
	o := &origin{authority: authority, name: spec}
	var err error
	switch path, upstream := strings.CutPrefix(spec, upstreamPrefix); {
	case upstream:
		err = a.openUpstream(o, path, f)
	case strings.HasPrefix(spec, "etcd://"):
		if o.store, err = a.openStore(spec, ""); err == nil {
			o.source, o.closers = o.store, append(o.closers, o.store)
		}
	case strings.Contains(spec, "://"):
		err = fmt.Errorf("%s; must be a folder, etcd://… or upstream:FILE", spec)
	default:
		if err = checkFolder(spec); err != nil {
			break
		}
		o.dir, err = files.Open(spec, files.Options{Types: a.types, Logger: a.logger()})
		if err == nil {
			o.source, o.closers = o.dir, append(o.closers, o.dir)
		}
	}
	if err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

// checkFolder returns an error if there is no folder: a command that is misspelled must not start a server without resources.
func checkFolder(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%q; must be a command or a folder that exists; \"xdsd help\" lists the commands", path)
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%q; must be a folder", path)
	}
	if err != nil {
		return &exitError{exitUnreachable, err}
	}
	return nil
}

func (a *app) openStore(at, author string) (*etcd.Store, error) {
	options, err := etcd.ParseURL(at)
	if err != nil {
		return nil, err
	}
	options.Logger, options.Author = a.logger(), author
	return etcd.Open(options)
}

// openUpstream opens a relay. It has only the resources that clients want, so its client keeps them as the last known
// good ones, in a directory of the authority.
func (a *app) openUpstream(o *origin, path string, f *serveFlags) error {
	config, err := bootstrap.LoadFile(path)
	if err != nil {
		return err
	}
	options := []xdsforge.Option{xdsforge.WithBootstrap(config), xdsforge.WithTypeSet(a.types)}
	if f.stateDir != "" {
		dir := filepath.Join(f.stateDir, "upstream-"+url.PathEscape(o.authority))
		options = append(options, xdsforge.WithLastKnownGood(lkg.Options{Dir: dir, Key: f.stateSecret, Logger: a.logger()}))
	}
	c, err := xdsforge.New(options...)
	if err != nil {
		return err
	}
	o.closers = append(o.closers, c)
	r, err := relay.New(c, relay.WithLogger(a.logger()))
	if err != nil {
		return err
	}
	o.source, o.relay, o.closers = r, r, append(o.closers, r)
	return nil
}

// Apply implements [source.Sink].
func (o *origin) Apply(source.Change) error { return nil }

// stateSink is the sink of a session that wants nothing. It prints the states of a source.
type stateSink struct {
	*origin
	app *app
}

// State implements [source.Sink].
func (s stateSink) State(state source.State) {
	s.mu.Lock()
	s.state = state
	s.mu.Unlock()
	s.app.print("%s is %v", s.name, state)
}

// problemInterval is the time between two looks at the problems of a folder.
const problemInterval = 200 * time.Millisecond

// printProblems prints the problems of a folder whenever they change, until ctx ends.
func (a *app) printProblems(ctx context.Context, d *files.Dir) {
	t := time.NewTicker(problemInterval)
	defer t.Stop()
	last := make(map[string]bool)
	for {
		last = a.printNew(d.Problems(), last)
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// printNew prints the problems that are not among the last ones, and whether all are solved.
func (a *app) printNew(problems []error, last map[string]bool) map[string]bool {
	now := make(map[string]bool, len(problems))
	for _, err := range problems {
		now[err.Error()] = true
		if !last[err.Error()] {
			a.print("rejected: %v", err)
		}
	}
	if len(now) == 0 && len(last) > 0 {
		a.print("all files are accepted")
	}
	return now
}

// A collector is the sink of a session that wants everything of a source.
type collector struct {
	mu        sync.Mutex
	resources []source.Resource
	done      chan error // the result
	ended     bool
}

var errCollected = errors.New("everything is here")

// Apply implements [source.Sink].
func (c *collector) Apply(ch source.Change) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resources = append(c.resources, ch.Put...)
	if len(ch.Complete) > 0 && !c.ended {
		c.ended = true
		c.done <- nil
	}
	return errCollected
}

// State implements [source.Sink].
func (c *collector) State(s source.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if (s.Kind == source.Down || partial.Is(s)) && !c.ended {
		c.ended = true
		c.done <- s.Err
	}
}

// readDir returns all resources of a folder. It prints the problems of the files.
func (a *app) readDir(ctx context.Context, path string) ([]source.Resource, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	d, err := files.Open(path, files.Options{Types: a.types, Logger: a.logger(), Quiet: time.Nanosecond})
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }() // it was only read
	c := &collector{done: make(chan error, 1)}
	session, err := d.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	session.Want([]source.Interest{{}}, nil)
	select {
	case err := <-c.done:
		if err != nil && !errors.Is(err, partial.Err) {
			return nil, &exitError{exitUnreachable, err}
		}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if problems := d.Problems(); len(problems) > 0 {
		a.printNew(problems, nil)
		return nil, &exitError{exitRejected, nil}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resources, nil
}
