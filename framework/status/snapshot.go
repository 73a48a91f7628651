package status

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Snapshot is a client at one moment. It is not changed after it was taken, and may
// be read by any number of goroutines.
type Snapshot struct {
	Taken  time.Time
	NodeID string
	// Servers are those of the bootstrap file, each once, in the order in which
	// authorities name them first.
	Servers []Server
	// Authorities are in the order of their names, that of old-style names first.
	Authorities []Authority
	// Resources are those that are watched, the members of collections that are, and
	// those collections, ordered by type and name.
	Resources []Resource
	// SlowWatchers counts how often a watcher took longer than it is waited for.
	SlowWatchers uint64
}

// A ServerState is how a client stands with a server.
type ServerState string

// The states of a server.
const (
	Idle       ServerState = "IDLE"       // nothing is wanted of it
	Connecting ServerState = "CONNECTING" // a stream is being opened
	Connected  ServerState = "CONNECTED"  // there is a stream
	Waiting    ServerState = "WAITING"    // until it is tried again
)

// A Server is one entry of the bootstrap file.
type Server struct {
	Entry *bootstrap.Server
	State ServerState
	// Delta says that the incremental variant of the protocol is spoken, or tried.
	Delta bool
	// RetryAt is when a server that is waited for is tried again.
	RetryAt time.Time
	// Err is why the server could last not be reached, or why a stream last ended with an
	// error, at ErrAt; nil if neither happened. It may be over.
	Err   error
	ErrAt time.Time
	// DownSince is the begin of the current outage. It is zero if the server can be
	// reached, or if its state is unknown. Attempts failed since then.
	DownSince time.Time
	Attempts  int

	Streams   uint64 // opened so far
	Requests  uint64
	Responses uint64
	Rejected  uint64 // responses
	Repeated  uint64 // names that the client asked for again because the server did not answer
	Sent      uint64 // bytes, of requests
	Received  uint64 // bytes, of responses
}

// An Authority is one authority of the bootstrap file, or all old-style names.
type Authority struct {
	Name     string // empty for old-style names, and for the empty authority
	OldStyle bool
	Servers  []*bootstrap.Server // in the order in which they are used (gRFC A71)
	Active   *bootstrap.Server   // in use; nil when nothing is watched
}

// A Resource is what is known of a resource or a collection.
type Resource struct {
	Type      string // full name of the message
	Name      xdstp.Name
	Authority string
	// State is REQUESTED, ACKED, NACKED, DOES_NOT_EXIST, TIMEOUT or RECEIVED_ERROR
	// (gRFC A88).
	State string
	// Update is in use, since Updated; nil when there is none.
	Update  resource.Update
	Version string // with which it was last sent
	Updated time.Time
	Expires time.Time // the end of its time to live; zero: there is none
	// Err is what is wrong, beside an Update that stays in use or with the resource
	// itself.
	Err error
	// RejectedVersion is the last one that was rejected, at RejectedAt.
	RejectedVersion string
	RejectedAt      time.Time
	// Collection says that this is a wildcard or a glob collection.
	Collection bool
	Watchers   []Watcher
}

// A Watcher is one watcher of a resource.
type Watcher struct {
	// Behind is for how long something new has been waiting for the watcher; zero
	// when it knows everything.
	Behind time.Duration
}
