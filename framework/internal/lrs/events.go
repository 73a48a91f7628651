package lrs

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/load"
)

// An Event is something that happened to a stream or is asked of it.
type Event interface{ event() }

type (
	// Want says whether there is something to report, now or later: whether the
	// store is not empty.
	Want struct{ Wanted bool }
	// Opened says that the stream asked for by Open is there.
	Opened struct{}
	// Written says that the message of the last Send has left.
	Written struct{}
	// Received brings what the server wants.
	Received struct{ Instructions Instructions }
	// Closed says that the stream ended or could not be opened.
	Closed struct {
		Err           error
		Unimplemented bool // the server takes no load reports
	}
	// Turn is the event to bring when the time of NextDeadline has come.
	Turn struct{}
)

func (Want) event()     {}
func (Opened) event()   {}
func (Written) event()  {}
func (Received) event() {}
func (Closed) event()   {}
func (Turn) event()     {}

// An Effect is something to do, in the order given.
type Effect interface{ effect() }

type (
	// Open a stream; answer with Opened or Closed.
	Open struct{}
	// Greet sends the node, and nothing else; answer with Written, or Closed.
	Greet struct{}
	// Report sends what happened to the clusters in a scope, even if that is nothing;
	// answer with Written, or with Closed when the stream broke.
	Report struct{ Scope load.Scope }
	// Bounded says that the server asked for an interval out of bounds, and which one
	// is used instead. There is one at most for each bound and stream.
	Bounded struct{ Asked, Used time.Duration }
	// Truncated says how many clusters of the server's list are ignored because they are
	// beyond MaxClusters. There is one at most for a stream.
	Truncated struct{ Ignored int }
	// Lost says that the stream is gone, and when the next one will be tried. Err is
	// nil when the stream had brought a response.
	Lost struct {
		Err     error
		RetryAt time.Time
		// Unimplemented says that the server takes no load reports.
		Unimplemented bool
	}
	// Idle says that nothing is to be reported: the stream, if there is one, is to be
	// closed, and the connection is not needed.
	Idle struct{}
)

func (Open) effect()      {}
func (Greet) effect()     {}
func (Report) effect()    {}
func (Bounded) effect()   {}
func (Truncated) effect() {}
func (Lost) effect()      {}
func (Idle) effect()      {}
