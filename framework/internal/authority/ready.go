package authority

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Watcher watches a resource. The machine only stores it and names it in a [Notice].
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

// A Response is the part of a server's response for this authority.
type Response struct {
	Server  int
	Type    *resource.Descriptor
	Results []Result
	// Unchanged are resources that equal those in an earlier response. The machine ignores those of
	// other authorities. It sets the records of the others.
	Unchanged []Unchanged
	Version   string // of Unchanged
	// Partial means that resources missing from Results may exist nevertheless: in the delta
	// protocol, and if some resources have unreadable names.
	Partial bool
	// Elsewhere means that the response is about watched resources of other authorities only. Such
	// a delta response answers no wildcard.
	Elsewhere bool
}

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
	// Message is the encoded resource, if Err is set and the resource was decoded. The machine copies
	// the part that it keeps.
	Message []byte
	// Record is set by Wants, and again when the response is handled.
	Record Handle
	// New is set by Wants if no record uses an update of this name.
	New bool
}

// Unchanged is a resource with the bytes and the server of an update that was decoded before.
type Unchanged struct {
	Update resource.Update
	Record Handle // the zero value if unknown
}

// A Handle identifies a record of a machine, or one that Watch may add. It may be out of date, which the machine detects.
type Handle struct{ r *record }

// A ServerError is the control plane's reason for not sending a resource (xRFC TP3).
type ServerError struct {
	Code    int32 // of google.rpc.Code
	Message string
}

// A Ready has the effects of the events since the last Ready. The client carries them out in the
// order of the fields, before the next event. Its slices are valid until then.
type Ready struct {
	// Changes are for the machines of the servers' streams. If the authority falls back, Renew
	// makes the next stream of the server before start without known versions: that server must not
	// stay silent because it has already sent everything. Release releases a fallback server,
	// because a better one has taken over (gRFC A71). The client must close the stream and the
	// connection at once, unless another authority or client uses them.
	Changes []Change
	// Unused are resources whose update from the server is no longer in use: reader caches drop
	// them.
	Unused []Resource
	// TimedOut are resources and collections that the server did not send in time.
	TimedOut []Resource
	// Missing are resources that the server has stopped to send without a removal: they are not in a
	// response that lists all resources, or in those after the stream was replaced. Each is here once.
	Missing []Resource
	// Stored are changes for the last known good store.
	Stored []Stored
	// Notices notify watchers.
	Notices []Notice
}

// A Change is a change for the stream of one server.
type Change struct {
	Server int
	ads.Change
}

// A Resource is a resource or a collection at one server.
type Resource struct {
	Server int
	Type   *resource.Descriptor
	Name   xdstp.Name
}

// A Notice is the newest state of a resource for a watcher.
type Notice struct {
	Watcher Watcher
	Member  xdstp.Name // of the collection that a CollectionWatcher watches; zero: the collection
	State   resource.State
}

// Deliver calls the watcher.
func (n *Notice) Deliver() {
	if n.Member.IsZero() {
		n.Watcher.Notify(n.State)
		return
	}
	n.Watcher.(CollectionWatcher).NotifyMember(n.Member, n.State)
}

// keptEffects is the limit of the memory for effects that is kept.
const keptEffects = 1 << 10

// Ready returns the effects of the events since the last call.
func (m *Machine) Ready() Ready {
	r := m.ready
	m.ready = Ready{
		Changes: kept(r.Changes), Unused: kept(r.Unused), TimedOut: kept(r.TimedOut), Missing: kept(r.Missing), Stored: kept(r.Stored),
		Notices: kept(r.Notices),
	}
	return r
}

// kept returns the empty slice with the memory of s, unless that is large.
func kept[T any](s []T) []T {
	if cap(s) > keptEffects {
		return nil
	}
	return s[:0]
}

// Clear drops the references of a Ready whose effects have been carried out.
func (r *Ready) Clear() {
	clear(r.Changes)
	clear(r.Unused)
	clear(r.TimedOut)
	clear(r.Missing)
	clear(r.Stored)
	clear(r.Notices)
}

// change emits a change of a record's subscription at a server.
func (m *Machine) change(server int, op ads.Op, r *record) {
	m.ready.Changes = append(m.ready.Changes, Change{server, ads.Change{Op: op, Type: r.records.typ, Name: r.name.String()}})
}

// unuse emits the end of the use of a record's update.
func (m *Machine) unuse(r *record) {
	m.ready.Unused = append(m.ready.Unused, Resource{int(r.from), r.records.typ, r.update.Name()})
}

// forget is unuse for a resource that is still subscribed to: the stream forgets its version, too.
func (m *Machine) forget(r *record) {
	m.unuse(r)
	m.ready.Changes = append(m.ready.Changes, Change{int(r.from), ads.Change{Op: ads.Forget, Type: r.records.typ, Name: r.update.Name().String()}})
}

func (m *Machine) notify(w Watcher, member xdstp.Name, s resource.State) {
	m.ready.Notices = append(m.ready.Notices, Notice{w, member, s})
}
