package adsserver

import (
	"fmt"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
)

// A StaleError ends the streams that use a source whose resources are older than Config.MaxStaleness.
type StaleError struct {
	Authority string        // of the source; "" for the main source
	Age       time.Duration // for which the resources have not been current
	Max       time.Duration
}

// Error implements error.
func (e *StaleError) Error() string {
	return fmt.Sprintf("ads: the source of authority %q has been stale for %v; must not be more than %v (MaxStaleness)", e.Authority, e.Age, e.Max)
}

// A FeedState is the state of a source.
type FeedState struct {
	Authority string // "" for the main source
	State     source.State
	Epoch     string
	Revision  uint64
	Stale     time.Time // since when the resources may be outdated; zero if they are current
	Expired   bool      // stale for longer than Config.MaxStaleness
}

// Feeds returns the states of all sources, the main one first.
func (c *Core) Feeds() []FeedState {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]FeedState, 0, len(c.feeds))
	for _, f := range c.feeds {
		list = append(list, FeedState{f.name, f.state, f.epoch, f.revision, f.stale, f.expired})
	}
	return list
}

// age follows a new state of the source: it notes since when the source is stale, and starts or ends
// the time that MaxStaleness grants.
func (f *feed) age() {
	c := f.core
	if f.state.Kind == source.Live {
		f.stopExpiry()
		f.stale = time.Time{}
		if f.expired {
			f.expired = false
			c.expired--
		}
		return
	}
	since := f.state.Since
	if since.IsZero() {
		since = time.Now()
	}
	if f.stale.IsZero() || since.Before(f.stale) {
		f.stale = since
		f.stopExpiry() // it would be too late
	}
	if limit := c.config.MaxStaleness; limit > 0 && f.expiry == nil && !f.expired && !c.closed {
		f.expiry = time.AfterFunc(time.Until(f.stale.Add(limit)), f.expire)
	}
}

func (f *feed) stopExpiry() {
	if f.expiry != nil {
		f.expiry.Stop()
		f.expiry = nil
	}
}

// expire ends the streams that use the source.
func (f *feed) expire() {
	c := f.core
	defer c.config.Changed()
	defer c.config.State()
	c.mu.Lock()
	defer c.mu.Unlock()
	if f.expiry == nil || f.stale.IsZero() || c.closed {
		return
	}
	f.expiry = nil
	if left := time.Until(f.stale.Add(c.config.MaxStaleness)); left > 0 {
		f.expiry = time.AfterFunc(left, f.expire)
		return
	}
	f.expired = true
	c.expired++
	for st := range c.streams {
		if err := st.outdated(); err != nil {
			st.end(err)
		}
	}
	c.flush()
	c.wake()
	c.wakeAll()
}

// outdated returns an error if the stream uses a source that is too old.
func (st *Stream) outdated() error {
	c := st.core
	if c.expired == 0 {
		return nil
	}
	uses := func(f *feed) bool {
		for _, s := range st.kinds {
			for _, l := range s.lists {
				if l.list.feed == f {
					return true
				}
			}
			for p := range s.subs.all() {
				if p.entry.feed == f && p.flags.has(byName) {
					return true
				}
			}
		}
		return false
	}
	for _, f := range c.feeds {
		if f.expired && uses(f) {
			return &StaleError{f.name, time.Since(f.stale).Round(time.Millisecond), c.config.MaxStaleness}
		}
	}
	return nil
}
