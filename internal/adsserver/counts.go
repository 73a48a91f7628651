package adsserver

import (
	"maps"
	"time"
)

// Counts are the messages of one type, of all streams so far.
type Counts struct{ Requests, Responses, Rejections uint64 }

// maxCounts bounds the types that are counted separately. The others have the empty URL.
const maxCounts = 1000

func (c *Core) countsOf(url string) *Counts {
	if n := c.counts[url]; n != nil {
		return n
	}
	if len(c.counts) >= maxCounts {
		url = ""
	}
	if c.counts[url] == nil {
		c.counts[url] = new(Counts)
	}
	return c.counts[url]
}

// Counts returns the messages by type URL.
func (c *Core) Counts() map[string]Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]Counts, len(c.counts))
	for url, n := range maps.All(c.counts) {
		all[url] = *n
	}
	return all
}

// A Lag tells how many streams lack the newest resources of a type.
type Lag struct {
	Streams int
	Since   time.Time // since when the first of them does
}

// Lags returns the lag of each type to which a stream subscribes, by type URL.
func (c *Core) Lags() map[string]Lag {
	all := make(map[string]Lag)
	c.eachStream(func(int) {}, func(st *Stream) {
		for _, s := range st.kinds {
			l := all[s.kind.url]
			if !s.current() {
				l.Streams++
				if since := time.Unix(0, s.behind); s.behind != 0 && (l.Since.IsZero() || since.Before(l.Since)) {
					l.Since = since
				}
			}
			all[s.kind.url] = l
		}
	})
	return all
}
