package ads

import (
	"github.com/xdsforge/xdsforge/framework/resource"
)

// An Event is something that happened to a stream or is asked of it.
type Event interface{ event() }

type (
	// Subscribe asks for a resource.
	Subscribe struct {
		Type *resource.Descriptor
		Name string // canonical
	}
	// Unsubscribe asks for a resource no longer.
	Unsubscribe struct {
		Type *resource.Descriptor
		Name string
	}
	// Forget says that the resource the server sent is not in use any longer: it
	// was dropped, or another server's took its place.
	Forget struct {
		Type *resource.Descriptor
		Name string
	}
	// Renew says that nothing the server sent is relied on any longer: the next
	// stream asks as if it were the first.
	Renew struct{}
	// Overdue says that half of the resource timer has passed since the name was asked
	// for, and that the server has not answered it. The machine asks for it again, at
	// once and then with back-off, until Answered, Unsubscribe or the end of the stream.
	Overdue struct {
		Type *resource.Descriptor
		Name string
	}
	// Answered says that the server has answered a name that was overdue.
	Answered struct {
		Type *resource.Descriptor
		Name string
	}
	// Release tells the machine not to keep the stream for later subscriptions: if
	// nothing is wanted at the next Turn, the stream ends without [Config.Linger].
	Release struct{}
	// Opened says that the stream asked for by Open is there.
	Opened struct{}
	// Written says that the request of the last Send has left.
	Written struct{}
	// Received brings a response whose resources have been looked at.
	Received struct {
		Type    *resource.Descriptor
		Version string
		Nonce   string
		Reject  string // not empty: why the response is rejected
		// Digest is equal for responses with equal resources, regardless of order,
		// version and nonce. Bad has a number for each rejected resource and reason, or
		// for some of them. Both are read only if Reject is not empty.
		Digest uint64
		Bad    []uint64
		// Accepted, Rejected and Removed are what the response said of resources,
		// by canonical name; where [Machine.Curious] asks for it. Rejected by either
		// side: an error of the control plane's leaves in use what is.
		Accepted []Accepted
		Rejected []string
		Removed  []string
	}
	// Closed says that the stream ended or could not be opened.
	Closed struct {
		Err           error
		Unimplemented bool // the server does not have the protocol
	}
	// Turn ends a batch of events: what accumulated may be sent. It is also the
	// event to bring when the time of NextDeadline has come.
	Turn struct{}
)

// Accepted is a resource that is taken into use.
type Accepted struct {
	Name    string
	Version string
	Aliases []string // canonical
	// Heartbeat says that it came without a body, because it is what it was.
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

// An Effect is something to do, in the order given.
type Effect interface{ effect() }

type (
	// Open a stream, in place of the one there may be; answer with Opened or
	// Closed.
	Open struct{ Delta bool }
	// Send a request on the stream; answer with Written, or with Closed when the
	// stream broke. Its slices and map are not to be changed. A request either answers
	// a response or changes subscriptions, never both: some servers ignore a whole
	// request because of the answer in it.
	Send struct {
		Type   *resource.Descriptor
		Nonce  string
		Reject string
		First  bool // of its stream: it carries the node
		// Repeats is how often the same content was rejected before in a row. Quiet says
		// that the log has had a line about it lately.
		Repeats int
		Quiet   bool
		// Again is how many names the request repeats because they are overdue.
		Again int

		// The state of the world.
		Version string
		Names   []string

		// The delta protocol.
		Delta                  bool
		Subscribe, Unsubscribe []string
		Versions               map[string]string
	}
	// Asked says that the names have now left on this stream for the first
	// time: the time in which the control plane should answer begins (gRFC A57).
	Asked struct {
		Type  *resource.Descriptor
		Names []string
	}
	// Stale says that the server does not have these resources any longer,
	// although it did not say so after the stream came back.
	Stale struct {
		Type  *resource.Descriptor
		Names []string
	}
	// Lost says that the stream is gone: nothing is awaited until it is there
	// again. Err is nil when the stream had brought a response, which makes its
	// end no error (gRFC A57).
	Lost struct{ Err error }
	// Healthy says that the control plane can be reached: it answered, or the
	// stream has been up for a while.
	Healthy struct{}
	// Idle says that nothing is wanted: the stream, if there is one, is to be
	// closed, the connection is not needed, and what Lost said before is out of
	// date. The next Subscribe leads to Open. If Released is set, the connection must
	// not be kept for later either.
	Idle struct{ Released bool }
)

func (Open) effect()    {}
func (Send) effect()    {}
func (Asked) effect()   {}
func (Stale) effect()   {}
func (Lost) effect()    {}
func (Healthy) effect() {}
func (Idle) effect()    {}
