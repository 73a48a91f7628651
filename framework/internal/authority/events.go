package authority

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Watcher watches a resource. The machine only stores it and names it in Notify effects.
type Watcher interface {
	// Notify receives the newest state. It must return at once.
	Notify(s resource.State)
}

// A CollectionWatcher watches a wildcard or a glob collection. Notify receives the state of the
// collection as a whole. A state with an origin means that the members are valid.
type CollectionWatcher interface {
	Watcher
	// NotifyMember receives the newest state of a member. Without an update, the member does not
	// exist or is unusable.
	NotifyMember(name xdstp.Name, s resource.State)
}

// An Event is an input of the machine: something that happened to the authority's resources.
type Event interface{ event() }

type (
	// Watch adds a watcher of a resource, or a CollectionWatcher of a collection. The watcher is
	// notified of the known state at once.
	Watch struct {
		Type    *resource.Descriptor
		Name    xdstp.Name
		Watcher Watcher
		// Place, unless it is nil, is set when the event is handled.
		Place *Place
	}
	// Cancel removes a watcher. The place that Watch set replaces type and name.
	Cancel struct {
		Type    *resource.Descriptor
		Name    xdstp.Name
		Watcher Watcher
		Place   Place
	}
	// Asked reports that a request with the names was sent on the current stream of a server.
	Asked struct {
		Server int
		Type   *resource.Descriptor
		Names  []string
	}
	// Response carries the part of a server's response for this authority.
	Response struct {
		Server  int
		Type    *resource.Descriptor
		Results []Result
		// Unchanged are resources that equal those in an earlier response. The machine ignores
		// those of other authorities. It sets the places of the others.
		Unchanged []Unchanged
		Version   string // of Unchanged
		// Partial means that resources missing from Results may exist nevertheless: in the delta
		// protocol, and if some resources have unreadable names.
		Partial bool
	}
	// Stale reports that a server no longer has the resources, although it did not say so.
	Stale struct {
		Server int
		Type   *resource.Descriptor
		Names  []string
	}
	// Lost reports that a server's stream has ended. If Err is not nil, the server is unreachable.
	// Watchers are notified once per outage, and again if Err differs from the previous one:
	// neither errors.Is holds nor are the texts equal.
	Lost struct {
		Server int
		Err    error
	}
	// Healthy reports that a server is reachable.
	Healthy struct{ Server int }
	// Idle reports that the client has had no subscriptions at a server lately, so that it does not
	// know whether the server is reachable.
	Idle struct{ Server int }
	// Pause reports that a server's response arrived, or began to arrive, at Since, and that the
	// client still works on it. The does-not-exist timers pause. It must precede any Asked and Tick
	// of that time.
	Pause struct {
		Server int
		Since  time.Time
	}
	// Resume reports that the client reads again. The timers continue with their remaining time.
	Resume struct{ Server int }
	// Tick is due at the time of NextDeadline.
	Tick struct{}
)

// A Result is the part of a response for one resource: valid with an Update, rejected with an Err,
// Removed, an Error of the control plane, or a Heartbeat.
type Result struct {
	Name    xdstp.Name
	Aliases []xdstp.Name // other names of the resource
	Version string
	Update  resource.Update
	Err     error
	// TTL is how long the update may be used; zero: without limit.
	TTL       time.Duration
	Heartbeat bool
	Removed   bool
	Error     *ServerError
	// Place is set when the event is handled.
	Place Place
}

// Unchanged is a resource with the bytes and the server of an update that was decoded before.
type Unchanged struct {
	Update resource.Update
	// Place is the position of its record; the zero value if unknown.
	Place Place
}

// A Place is the position of a record in a machine. It may be out of date, which the machine
// detects.
type Place struct{ r *record }

// A ServerError is the control plane's reason for not sending a resource (xRFC TP3).
type ServerError struct {
	Code    int32 // of google.rpc.Code
	Message string
}

func (Watch) event()    {}
func (Cancel) event()   {}
func (Asked) event()    {}
func (Response) event() {}
func (Stale) event()    {}
func (Lost) event()     {}
func (Healthy) event()  {}
func (Idle) event()     {}
func (Pause) event()    {}
func (Resume) event()   {}
func (Tick) event()     {}

// An Effect is an action for the client. Effects are carried out in order.
type Effect interface{ effect() }

type (
	// Subscribe subscribes to a resource at a server.
	Subscribe struct {
		Server int
		Type   *resource.Descriptor
		Name   string
	}
	// Unsubscribe ends the subscription: nobody watches the resource any more, or the server is no
	// longer used.
	Unsubscribe struct {
		Server int
		Type   *resource.Descriptor
		Name   string
	}
	// Overdue reports that half of the resource timer has passed without an answer of the server.
	// The client must request the resource again.
	Overdue struct {
		Server int
		Type   *resource.Descriptor
		Name   string
	}
	// Silent reports that a collection timed out: the server has never answered it.
	Silent struct {
		Server int
		Type   *resource.Descriptor
		Name   string
	}
	// Answered reports that the server has answered an overdue name.
	Answered struct {
		Server int
		Type   *resource.Descriptor
		Name   string
	}
	// Forget reports that a resource from a server is no longer in use. Its version must be
	// forgotten.
	Forget struct {
		Server int
		Type   *resource.Descriptor
		Name   xdstp.Name
	}
	// Unused reports that the update of a resource from a server is no longer in use: nobody
	// watches the resource.
	Unused struct {
		Server int
		Type   *resource.Descriptor
		Name   xdstp.Name
	}
	// Renew makes the next stream of a server start without known versions. The machine uses
	// another server until this one responds, so the server must not stay silent because it has
	// already sent everything.
	Renew struct{ Server int }
	// Release releases a fallback server: a better one has taken over (gRFC A71). The authority has
	// unsubscribed from everything. The client must close the stream and the connection at once,
	// unless another authority or scope uses them.
	Release struct{ Server int }
	// Notify notifies a watcher.
	Notify struct {
		Watcher Watcher
		State   resource.State
	}
	// NotifyMember notifies a watcher of a collection about a member.
	NotifyMember struct {
		Watcher CollectionWatcher
		Name    xdstp.Name
		State   resource.State
	}
)

func (Subscribe) effect()    {}
func (Unsubscribe) effect()  {}
func (Overdue) effect()      {}
func (Silent) effect()       {}
func (Answered) effect()     {}
func (Forget) effect()       {}
func (Unused) effect()       {}
func (Renew) effect()        {}
func (Release) effect()      {}
func (Notify) effect()       {}
func (NotifyMember) effect() {}
