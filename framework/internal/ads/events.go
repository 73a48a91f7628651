package ads

import (
	"github.com/xdsforge/xdsforge/framework/resource"
)

// An Event is an input of the machine: something that happened to a stream, or a request of the
// client.
type Event interface{ event() }

type (
	// Subscribe subscribes to a resource.
	Subscribe struct {
		Type *resource.Descriptor
		Name string // canonical
	}
	// Unsubscribe ends the subscription to a resource.
	Unsubscribe struct {
		Type *resource.Descriptor
		Name string
	}
	// Forget reports that a resource from the server is no longer in use: it was dropped, or
	// replaced by that of another server.
	Forget struct {
		Type *resource.Descriptor
		Name string
	}
	// Renew makes the next stream start without known versions, because the client no longer relies
	// on the server's resources.
	Renew struct{}
	// Overdue reports that half of the resource timer has passed since a name was requested,
	// without an answer. The machine requests it again, at once and then with back-off, until
	// Answered, Unsubscribe or the end of the stream.
	Overdue struct {
		Type *resource.Descriptor
		Name string
	}
	// Answered reports that the server has answered an overdue name.
	Answered struct {
		Type *resource.Descriptor
		Name string
	}
	// Release tells the machine not to keep the stream for later subscriptions. If nothing is
	// wanted at the next Turn, the stream ends without [Config.Linger].
	Release struct{}
	// Opened reports that the stream of the last Open is open.
	Opened struct{}
	// Written reports that the request of the last Send has been sent.
	Written struct{}
	// Received carries a response whose resources have been read.
	Received struct {
		Type    *resource.Descriptor
		Version string
		Nonce   string
		Reject  string // not empty: the reason of the rejection
		// Digest is equal for responses with equal resources, regardless of order, version and
		// nonce. Bad has a number for each rejected resource and reason, or for some of them. Both
		// are read only if Reject is not empty.
		Digest uint64
		Bad    []uint64
		// Accepted, Rejected and Removed are the resources of the response, by canonical name. They
		// are set if [Machine.Curious] returns true. Rejected includes errors of the control plane,
		// because these leave the current resource in use.
		Accepted []Accepted
		Rejected []string
		Removed  []string
	}
	// Closed reports that the stream ended or could not be opened.
	Closed struct {
		Err           error
		Unimplemented bool // the server does not support the protocol
	}
	// Turn ends a batch of events: requests may be sent. It is also due at the time of
	// NextDeadline.
	Turn struct{}
)

// Accepted is a resource that the client takes into use.
type Accepted struct {
	Name    string
	Version string
	Aliases []string // canonical
	// Heartbeat means that the resource came without a body, because it is unchanged.
	Heartbeat bool
}

func (Subscribe) event()   {}
func (Unsubscribe) event() {}
func (Forget) event()      {}
func (Renew) event()       {}
func (Overdue) event()     {}
func (Answered) event()    {}
func (Release) event()     {}
func (Opened) event()      {}
func (Written) event()     {}
func (Received) event()    {}
func (Closed) event()      {}
func (Turn) event()        {}

// An Effect is an action for the client. Effects are carried out in order.
type Effect interface{ effect() }

type (
	// Open opens a stream and replaces the current one, if any; answer with Opened or Closed.
	Open struct{ Delta bool }
	// Send sends a request on the stream; answer with Written, or with Closed if the stream broke.
	// Nobody may change its slices and map. A request either answers a response or changes
	// subscriptions, never both: some servers ignore a whole request because of the answer in it.
	Send struct {
		Type   *resource.Descriptor
		Nonce  string
		Reject string
		First  bool // of its stream: it contains the node
		// Repeats is how often the same content was rejected before in a row. Quiet means that the
		// log recently had a line about it.
		Repeats int
		Quiet   bool
		// Again is the number of overdue names that the request repeats.
		Again int

		// Fields of the state-of-the-world variant.
		Version string
		Names   []string

		// Fields of the delta variant.
		Delta                  bool
		Subscribe, Unsubscribe []string
		Versions               map[string]string
	}
	// Asked reports that a request with the names was sent for the first time on this stream. The
	// time in which the control plane should answer begins (gRFC A57).
	Asked struct {
		Type  *resource.Descriptor
		Names []string
	}
	// Stale reports that the server no longer has these resources, although it did not say so after
	// the reconnect.
	Stale struct {
		Type  *resource.Descriptor
		Names []string
	}
	// Lost reports that the stream has ended. The machine expects no responses until the next
	// stream. Err is nil if the stream had received a response, because its end is then not an
	// error (gRFC A57).
	Lost struct{ Err error }
	// Healthy reports that the control plane is reachable: it answered, or the stream has been up
	// for a while.
	Healthy struct{}
	// Idle reports that nothing is wanted. The client must close the stream, if there is one, and
	// does not need the connection. The last Lost no longer applies. The next Subscribe leads to
	// Open. If Released is set, the client must not keep the connection for later.
	Idle struct{ Released bool }
)

func (Open) effect()    {}
func (Send) effect()    {}
func (Asked) effect()   {}
func (Stale) effect()   {}
func (Lost) effect()    {}
func (Healthy) effect() {}
func (Idle) effect()    {}
