package adsserver

import (
	"container/list"
	"context"
	"fmt"
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Core answers ADS streams from sources. [New] makes one. It is safe for concurrent use.
type Core struct {
	config   Config
	cancel   context.CancelFunc
	requests sync.Pool  // of *request
	reading  sync.Mutex // see eachStream; locked before mu

	mu      sync.Mutex
	closed  bool
	refused error // not nil: Open fails
	held    bool  // no response is sent
	feeds   []*feed
	feed    *feed // of all other names; nil if there is none
	byName  map[string]*feed
	types   map[string]*kind // by type URL
	streams map[*Stream]struct{}
	opened  int           // streams so far
	ids     uint64        // of entries
	stamps  uint64        // of contents
	touched []*Stream     // by the current event
	batch   []*content    // of the response that is built
	batches uint64        // so far
	taken   []*entry      // see substream.take
	adds    []sub         // an empty list for the next stream that subscribes
	part    int           // see defaultPart; tests have other parts
	between func()        // called between two parts, for tests
	changed chan struct{} // closed and replaced when the state of a feed changes
	timers  timers
	seed    maphash.Seed

	counts      map[string]*Counts // by type URL
	now         int64              // the time of the event; 0: not read yet
	versionText string             // "" after a change
	expired     int                // feeds that are too old
	rounds      rounds
	unanswered  unanswered
	kept        list.List // of the entries with kept contents, the oldest first
	keptBytes   int
}

// A feed is the use of one source.
type feed struct {
	core     *Core
	session  source.Session
	state    source.State
	epoch    string
	revision uint64
	applied  uint64                   // changes so far
	wants    map[source.Interest]wish // of the current event

	name    string      // of the authority; "" for the main source
	stale   time.Time   // since when the resources may be outdated; zero: they are current
	expiry  *time.Timer // for MaxStaleness
	expired bool        // stale for longer than MaxStaleness
}

// New opens a session of each source. Close the core when it is no longer needed.
func New(config Config) (*Core, error) {
	if config.Type == nil {
		config.Type = AnyType
	}
	if config.Changed == nil {
		config.Changed = func() {}
	}
	if config.Rejected == nil {
		config.Rejected = func(any, source.Rejection) {}
	}
	if config.State == nil {
		config.State = func() {}
	}
	config.Limits = config.Limits.withDefaults()
	c := &Core{
		config: config, byName: make(map[string]*feed), types: make(map[string]*kind),
		streams: make(map[*Stream]struct{}), changed: make(chan struct{}), counts: make(map[string]*Counts),
		requests: sync.Pool{New: func() any { return new(request) }}, seed: maphash.MakeSeed(),
		part: defaultPart, between: func() {},
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	c.mu.Lock()
	defer c.mu.Unlock()
	if config.Source != nil {
		f, err := c.open(ctx, "", config.Source)
		if err != nil {
			cancel()
			return nil, err
		}
		c.feed = f
	}
	for name, s := range config.Authorities {
		f, err := c.open(ctx, name, s)
		if err != nil {
			cancel()
			return nil, fmt.Errorf("ads: authority %q: %w", name, err)
		}
		c.byName[name] = f
	}
	return c, nil
}

func (c *Core) open(ctx context.Context, name string, s source.Source) (f *feed, err error) {
	f = &feed{core: c, name: name}
	f.session, err = s.Open(ctx, f)
	c.feeds = append(c.feeds, f)
	return f, err
}

// Close ends all streams and sessions.
func (c *Core) Close() error {
	c.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.end(ErrClosed)
	c.timers.stop()
	c.unanswered.stop()
	c.rounds.stop()
	for _, f := range c.feeds {
		f.stopExpiry()
	}
	c.wake()
	c.wakeAll()
	return nil
}

// Ready waits for the first state of the main source. It returns the reason if that is down.
func (c *Core) Ready(ctx context.Context) error {
	for {
		c.mu.Lock()
		f, changed, closed := c.feed, c.changed, c.closed
		var state source.State
		if f != nil {
			state = f.state
		}
		c.mu.Unlock()
		switch {
		case closed:
			return ErrClosed
		case f == nil || state.Kind == source.Live || state.Kind == source.Stale:
			return nil
		case state.Kind == source.Down:
			return downError(state)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func downError(s source.State) error {
	if s.Err == nil {
		return fmt.Errorf("the source is %v", s.Kind)
	}
	return s.Err
}

// route returns the feed of a name, or nil.
func (c *Core) route(name string) *feed {
	if len(c.byName) == 0 || !strings.HasPrefix(name, "xdstp:") {
		return c.feed
	}
	if n, err := xdstp.Parse(name); err == nil {
		if f := c.byName[n.Authority()]; f != nil {
			return f
		}
	}
	return c.feed
}

// version returns the version of the state of the world. All streams share the text.
func (c *Core) version() string {
	if c.versionText != "" {
		return c.versionText
	}
	f := c.feed
	if f == nil || len(c.feeds) > 1 {
		var sum uint64
		for _, f := range c.feeds {
			sum += f.revision
		}
		c.versionText = "all-" + strconv.FormatUint(sum, 36)
	} else {
		c.versionText = f.epoch + "-" + strconv.FormatUint(f.revision, 36)
	}
	return c.versionText
}

// clock returns the time in ns since 1970. It is read once for each event.
func (c *Core) clock() int64 {
	if c.now == 0 {
		c.now = time.Now().UnixNano()
	}
	return c.now
}

// State implements [source.Sink].
func (f *feed) State(s source.State) {
	c := f.core
	c.mu.Lock()
	f.state = s
	f.age()
	if s.Kind == source.Down && c.config.EndOnDown && f == c.feed {
		c.end(downError(s))
		c.flush()
		c.wake()
	}
	c.wakeAll()
	c.mu.Unlock()
	c.config.State()
	c.config.Changed()
}

// wakeAll wakes everybody who waits for the state of a feed.
func (c *Core) wakeAll() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// end ends all streams.
func (c *Core) end(err error) {
	for st := range c.streams {
		st.end(err)
	}
}

// Refuse makes Open fail with err. Nil ends that.
func (c *Core) Refuse(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = err
}

// Cut ends all streams with err.
func (c *Core) Cut(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(err)
	c.flush()
	c.wake()
}

// Hold holds all responses back, or ends that.
func (c *Core) Hold(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = on
	for st := range c.streams {
		st.touch()
	}
	c.wake()
}
