package load

import (
	"sync"
	"time"
)

// Bounds of the load that the reporters of a client add. Load beyond a limit is not counted.
const (
	maxReported      = 10_000   // names of clusters of a client
	maxReportedBytes = 16 << 20 // lengths of these names, and of all other names of a client
	maxShares        = 400_000  // clusters, categories of drops, localities and metrics of all reporters of a client

	maxLocalities         = 1_000   // of a cluster of a reporter
	maxReportedLocalities = 100_000 // of all clusters of a reporter
	maxRunning            = 1 << 40 // calls in progress of a locality of a reporter, so that the sum of all does not wrap
)

const (
	reportedAge   = time.Hour   // a cluster without a report for so long is forgotten
	reportedSweep = time.Minute // between two searches for such clusters
)

// A Client bounds the load that all reporters of one client add. The zero value is ready to use. It is safe for
// concurrent use.
type Client struct {
	mu     sync.Mutex
	names  map[clusterKey]int // reporters with the cluster
	bytes  int                // of the names, and of those of shares
	shares int                // clusters, categories, localities and metrics of all reporters
}

// enter adds a cluster of a reporter. It reports false at a limit.
func (c *Client) enter(k clusterKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	size := len(k.cluster) + len(k.service)
	fresh := c.names[k] == 0
	if c.shares >= maxShares || fresh && (len(c.names) >= maxReported || c.bytes+size > maxReportedBytes) {
		return false
	}
	if c.names == nil {
		c.names = make(map[clusterKey]int)
	}
	c.names[k]++
	if fresh {
		c.bytes += size
	}
	c.shares++
	return true
}

// leave removes a cluster of a reporter with its shares.
func (c *Client) leave(k clusterKey, shares, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shares -= 1 + shares
	c.bytes -= bytes
	c.names[k]--
	if c.names[k] == 0 {
		delete(c.names, k)
		c.bytes -= len(k.cluster) + len(k.service)
	}
}

// share adds a part of a cluster of a reporter. It reports false at a limit.
func (c *Client) share(size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shares >= maxShares || c.bytes+size > maxReportedBytes {
		return false
	}
	c.shares++
	c.bytes += size
	return true
}

// A reported is a cluster of a reporter. It has everything that the reporter may have added to the sums, because a client
// pays for it until the cluster is forgotten.
type reported struct {
	client     *Client
	categories map[string]struct{}
	localities map[LocalityID]*reportedLocality
	shares     int // of the client
	bytes      int // of their names
	seen       time.Time
}

// A reportedLocality is a locality of a cluster of a reporter.
type reportedLocality struct {
	running uint64 // calls in progress
	metrics map[string]struct{}
}

func (r *reported) share(size int) bool {
	if !r.client.share(size) {
		return false
	}
	r.shares++
	r.bytes += size
	return true
}

// category reports whether drops of a category count.
func (r *reported) category(name string) bool {
	if _, known := r.categories[name]; known {
		return true
	}
	if len(r.categories) >= maxCategories || !r.share(len(name)) {
		return false
	}
	r.categories[name] = struct{}{}
	return true
}

// metric reports whether a metric counts.
func (r *reported) metric(l *reportedLocality, name string) bool {
	if _, known := l.metrics[name]; known {
		return true
	}
	if len(l.metrics) >= maxNamed || !r.share(len(name)) {
		return false
	}
	if l.metrics == nil {
		l.metrics = make(map[string]struct{})
	}
	l.metrics[name] = struct{}{}
	return true
}
