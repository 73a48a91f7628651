package adsserver

import "maps"

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
