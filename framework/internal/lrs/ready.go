package lrs

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/load"
)

// A Ready has the effects of the events since the last Ready. The client carries them out in the
// order of the fields, after each event.
type Ready struct {
	// StreamEnded is not nil if the stream has ended.
	StreamEnded *End
	// IntervalClamped is not nil if the server asked for an interval out of bounds. It is set at
	// most once for each bound and stream.
	IntervalClamped *Clamp
	// Truncated is the number of clusters of the server's list that are ignored because they are
	// beyond MaxClusters. It is set at most once for each stream.
	Truncated int
	// Idle means that there is nothing to report. The client must close the stream, if there is
	// one, and does not need the connection.
	Idle bool
	// Open opens a stream; answer with Opened or Closed.
	Open bool
	// SendNode sends only the node; answer with Written, or Closed.
	SendNode bool
	// Report sends the load of the clusters in a filter, even if there is none. Answer with Written,
	// or with Closed if the stream broke.
	Report *load.ClusterFilter
}

// An End is the end of a stream. Err is nil if the stream had received a response.
type End struct {
	Err           error
	RetryAt       time.Time // when the next attempt is due
	Unimplemented bool      // the server does not accept load reports
}

// A Clamp is an interval that the server asked for, and the one used instead.
type Clamp struct{ Asked, Used time.Duration }

// Ready returns the effects of the events since the last call.
func (m *Machine) Ready() Ready {
	r := m.ready
	m.ready = Ready{}
	return r
}
