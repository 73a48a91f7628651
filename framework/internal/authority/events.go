package authority

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Watcher is whoever wants to be told of a resource. The machine only
// remembers it and names it in Notify effects.
type Watcher interface {
	// Notify takes the newest state. It must return at once.
	Notify(s resource.State)
}

// A CollectionWatcher watches a wildcard or a glob collection. Notify tells it of
// the collection as a whole: a state with an origin says that the members are to be used.
type CollectionWatcher interface {
	Watcher
	// NotifyMember takes the newest state of a member. One without an update says
	// that there is no such member, or none that can be used.
	NotifyMember(name xdstp.Name, s resource.State)
}

// An Event is something that happened to the authority's resources.
type Event interface{ event() }

type (
	// Watch adds a watcher of a resource, or a CollectionWatcher of a collection.
	// What is known is told at once.
	Watch struct {
		Type    *resource.Descriptor
		Name    xdstp.Name
		Watcher Watcher
		// Place, unless it is nil, is set when the event is handled.
		Place *Place
	}
	// Cancel removes it again. The place that Watch set makes up for type and name.
	Cancel struct {
		Type    *resource.Descriptor
		Name    xdstp.Name
		Watcher Watcher
		Place   Place
	}
	// Asked says that the names have left on the current stream of a server.
	Asked struct {
		Server int
		Type   *resource.Descriptor
		Names  []string
	}
	// Response brings what a server's response said of this authority's resources.
	Response struct {
		Server  int
		Type    *resource.Descriptor
		Results []Result
		// Unchanged are resources that are what they were in an earlier response;
		// those of other authorities are passed over. Handling the event sets their
		// places.
		Unchanged []Unchanged
		Version   string // of those
		// Partial says that what is missing from Results may be there all the same:
		// in the delta protocol, and where there are resources whose names cannot
		// be read.
		Partial bool
	}
	// Stale says that a server does not have the resources any longer, although it
	// did not say so.
	Stale struct {
		Server int
		Type   *resource.Descriptor
		Names  []string
	}
	// Lost says that a server's stream is gone; Err, when it is not nil, that the
	// server cannot be reached. Watchers are notified once per outage, and again when Err
	// differs from the one before: neither errors.Is holds nor are the texts equal.
	Lost struct {
		Server int
		Err    error
	}
	// Healthy says that a server can be reached.
	Healthy struct{ Server int }
	// Idle says that nobody has asked a server for anything lately, so that nothing
	// is known of whether it can be reached.
	Idle struct{ Server int }
	// Pause says that a response of a server's arrived at Since, or had begun to arrive,
	// and that the client still works on it: the does-not-exist timers pause. It must
	// precede any Asked and Tick of that time.
	Pause struct {
		Server int
		Since  time.Time
	}
	// Resume says that the client reads again: the timers continue with the time that they
	// had left.
	Resume struct{ Server int }
	// Tick says that the time of NextDeadline has come.
	Tick struct{}
)

// A Result is what a response says of one resource: valid with an Update, rejected
// with an Err, Removed, an Error of the control plane's, or a Heartbeat.
type Result struct {
	Name    xdstp.Name
	Aliases []xdstp.Name // other names that it may be watched by
	Version string
	Update  resource.Update
	Err     error
	// TTL is how long the update may be used; zero: until further notice.
	TTL       time.Duration
	Heartbeat bool
	Removed   bool
	Error     *ServerError
	// Place is set when the event is handled.
	Place Place
}

// Unchanged is a resource whose bytes, and whose server, are those of an update that
// was decoded before.
type Unchanged struct {
	Update resource.Update
	// Place is where the machine keeps it; the zero value for not known.
	Place Place
}

// A Place is where a machine keeps what it knows of a resource. It may be out of date,
// which the machine notices.
type Place struct{ r *record }

// A ServerError is why a control plane does not send a resource (xRFC TP3).
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

// An Effect is something to do, in the order given.
type Effect interface{ effect() }

type (
	// Subscribe to a resource at a server.
	Subscribe struct {
		Server int
		Type   *resource.Descriptor
		Name   string
	}
	// Unsubscribe from it: nobody watches it any longer, or the server is not used
	// any longer.
	Unsubscribe struct {
		Server int
		Type   *resource.Descriptor
		Name   string
	}
	// Overdue says that half of the resource timer has passed and the server has not
	// answered: it is to be asked again.
	Overdue struct {
		Server int
		Type   *resource.Descriptor
		Name   string
	}
	// Silent says that a collection timed out: the server has never answered it.
	Silent struct {
		Server int
		Type   *resource.Descriptor
		Name   string
	}
	// Answered says that the server has answered a name that was overdue.
	Answered struct {
		Server int
		Type   *resource.Descriptor
		Name   string
	}
	// Forget that a server sent a resource: it is not in use any longer.
	Forget struct {
		Server int
		Type   *resource.Descriptor
		Name   xdstp.Name
	}
	// Unused says that the update of a resource, which a server sent, is not in use any
	// longer: nobody watches the resource.
	Unused struct {
		Server int
		Type   *resource.Descriptor
		Name   xdstp.Name
	}
	// Renew what a server is asked for when its stream is back: another server is
	// listened to until it responds, so it must not stay silent because it said
	// everything before.
	Renew struct{ Server int }
	// Release a fallback server: a better one has taken over (gRFC A71). The authority has
	// unsubscribed from everything. The client must close the stream and the connection
	// at once, unless another authority or scope uses them.
	Release struct{ Server int }
	// Notify a watcher.
	Notify struct {
		Watcher Watcher
		State   resource.State
	}
	// NotifyMember tells a watcher of a collection of a member.
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
