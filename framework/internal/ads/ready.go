package ads

import (
	"iter"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
)

// A Change is a change of the names that a stream subscribes to, or of the resources that the
// client holds. Package authority decides on changes.
type Change struct {
	Op   Op
	Type *resource.Descriptor // nil for Renew and Release
	Name string               // canonical; "" for Renew and Release
}

// An Op is the kind of a [Change].
type Op uint8

const (
	// Subscribe subscribes to a resource.
	Subscribe Op = iota
	// Unsubscribe ends the subscription to a resource.
	Unsubscribe
	// Forget drops the version of a resource that is no longer in use: the client dropped it, or
	// replaced it by that of another server.
	Forget
	// Repeat requests a name again that the server has left unanswered for half of the resource
	// timer. The machine requests it at once and then with back-off, until Answered, Unsubscribe
	// or the end of the stream.
	Repeat
	// Answered means that the server has answered a repeated name.
	Answered
	// Renew makes the next stream start without known versions, because the client no longer
	// relies on the server's resources.
	Renew
	// Release tells the machine not to keep the stream for later subscriptions. If nothing is
	// wanted at the next Tick, the stream ends without [Config.Linger].
	Release
)

// A Response is a response whose resources the client has read.
type Response struct {
	Type    *resource.Descriptor
	Version string
	Nonce   string
	Reject  string // not empty: the reason of the rejection
	// Digest is equal for responses with equal resources, regardless of order, version and nonce.
	// Bad has a number for each rejected resource and reason, or for some of them. Both are read
	// only if Reject is not empty.
	Digest uint64
	Bad    []uint64
	// Resources yields the resources, removals and errors of the response. In the state-of-the-world
	// variant, the machine rarely reads it. It does so only while it handles the response. It must
	// not be nil.
	Resources iter.Seq[Resource]
}

// A Resource is the part of a response for one resource.
type Resource struct {
	Name    string // canonical, as the aliases
	Version string
	Aliases []string
	Verdict Verdict
	// Heartbeat means that an accepted resource came without a body, because it is unchanged.
	Heartbeat bool
}

// A Verdict is the effect of a response on a resource.
type Verdict uint8

const (
	// Accepted resources are taken into use.
	Accepted Verdict = iota
	// Rejected resources are invalid, or the control plane reported an error for them. The current
	// resource stays in use.
	Rejected
	// Removed resources do not exist any longer.
	Removed
)

// A Ready has the effects of the events since the last Ready. The owner carries them out in the
// order of the fields. It must do so after every event but a Change, and before the next one.
type Ready struct {
	// StreamEnded means that the stream has ended. The machine expects no responses until the next
	// stream. Err is nil if the stream had received a response, because its end is then not an
	// error (gRFC A57).
	StreamEnded bool
	Err         error
	// Idle means that nothing is wanted. The owner must close the stream, if there is one, and does
	// not need the connection. The last StreamEnded no longer applies. The next Subscribe leads to
	// Open. If Released is set, the owner must not keep the connection for later.
	Idle, Released bool
	// Requested are names that a request contained for the first time on this stream. The time in
	// which the control plane should answer begins (gRFC A57).
	Requested Names
	// Healthy means that the control plane is reachable: it answered, or the stream has been up for
	// a while.
	Healthy bool
	// Stale are resources that the server no longer has, although it did not say so after the
	// reconnect.
	Stale []Names
	// Open opens a stream, which replaces the current one, if any. [Machine.Delta] is its variant.
	// The owner answers with Opened or Closed.
	Open bool
	// Send is a request to send on the stream. The owner answers with Written, or with Closed if
	// the stream broke.
	Send *Request
}

// Names are names of resources of one type.
type Names struct {
	Type  *resource.Descriptor
	Names []string
}

// A Request is a request to a server. Nobody may change its slices and map. A request either
// answers a response or changes subscriptions, never both: some servers ignore a whole request
// because of the answer in it.
type Request struct {
	Type   *resource.Descriptor
	Nonce  string
	Reject string
	First  bool // of its stream: it contains the node
	// Repeats is how often the same content was rejected before in a row. Quiet means that the log
	// recently had a line about it.
	Repeats int
	Quiet   bool
	// Repeated is the number of overdue names that the request repeats.
	Repeated int

	// Fields of the state-of-the-world variant.
	Version string
	Names   []string

	// Fields of the delta variant.
	Delta                  bool
	Subscribe, Unsubscribe []string
	Versions               map[string]string
}

// Ready returns the effects of the events since the last call.
func (m *Machine) Ready() Ready {
	r := m.ready
	m.ready = Ready{}
	return r
}

// Change applies a change. It has no effect before the next Tick, so that the changes of one batch
// share a request.
func (m *Machine) Change(c Change, now time.Time) {
	switch c.Op {
	case Subscribe:
		m.of(c.Type).add(c.Name)
	case Unsubscribe:
		m.of(c.Type).remove(c.Name)
	case Forget:
		m.of(c.Type).forget(c.Name)
	case Repeat:
		m.of(c.Type).late(c.Name, now)
	case Answered:
		m.of(c.Type).answered(c.Name)
	case Renew:
		for _, s := range m.types {
			s.renew()
		}
	case Release:
		m.released = true
	}
}

// Opened reports that the stream of the last Open is open.
func (m *Machine) Opened(now time.Time) { m.state, m.openedAt = open, now }

// Written reports that the request of the last Send has been sent.
func (m *Machine) Written() {
	if m.writing.Type != nil {
		m.ready.Requested, m.writing = m.writing, Names{}
	}
}
