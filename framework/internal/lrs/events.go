package lrs

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/load"
)

// An Event is an input of the machine: something that happened to a stream, or a request of the
// client.
type Event interface{ event() }

type (
	// Want reports whether there is something to report, now or later: whether the store is not
	// empty.
	Want struct{ Wanted bool }
	// Opened reports that the stream of the last Open is open.
	Opened struct{}
	// Written reports that the message of the last Send has been sent.
	Written struct{}
	// Received carries the server's instructions.
	Received struct{ Instructions Instructions }
	// Closed reports that the stream ended or could not be opened.
	Closed struct {
		Err           error
		Unimplemented bool // the server does not accept load reports
	}
	// Turn is due at the time of NextDeadline.
	Turn struct{}
)

func (Want) event()     {}
func (Opened) event()   {}
func (Written) event()  {}
func (Received) event() {}
func (Closed) event()   {}
func (Turn) event()     {}

// An Effect is an action for the client. Effects are carried out in order.
type Effect interface{ effect() }

type (
	// Open opens a stream; answer with Opened or Closed.
	Open struct{}
	// Greet sends only the node; answer with Written, or Closed.
	Greet struct{}
	// Report sends the load of the clusters in a scope, even if there is none. Answer with Written,
	// or with Closed if the stream broke.
	Report struct{ Scope load.Scope }
	// Bounded reports that the server asked for an interval out of bounds, and the interval used
	// instead. It is emitted at most once for each bound and stream.
	Bounded struct{ Asked, Used time.Duration }
	// Truncated reports the number of clusters of the server's list that are ignored because they
	// are beyond MaxClusters. It is emitted at most once for each stream.
	Truncated struct{ Ignored int }
	// Lost reports that the stream has ended, and when the next attempt is due. Err is nil if the
	// stream had received a response.
	Lost struct {
		Err     error
		RetryAt time.Time
		// Unimplemented means that the server does not accept load reports.
		Unimplemented bool
	}
	// Idle reports that there is nothing to report. The client must close the stream, if there is
	// one, and does not need the connection.
	Idle struct{}
)

func (Open) effect()      {}
func (Greet) effect()     {}
func (Report) effect()    {}
func (Bounded) effect()   {}
func (Truncated) effect() {}
func (Lost) effect()      {}
func (Idle) effect()      {}
