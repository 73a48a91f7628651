package status

import (
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Snapshot is a client at one moment. It is not changed after it was taken, and may
// be read by any number of goroutines. Its JSON has everything but credentials and secrets;
// its parts print as one line each.
type Snapshot struct {
	// Scope is the part of the program that the client is for (gRFC A71): the target of gRPC
	// channels, "#server" for gRPC servers, and "" for the program's own client.
	Scope  string    `json:"scope,omitzero"`
	Taken  time.Time `json:"taken,omitzero"`
	NodeID string    `json:"nodeId,omitzero"`
	// Servers are those of the bootstrap file, each once, in the order in which
	// authorities name them first.
	Servers []Server `json:"servers,omitempty"`
	// Authorities are in the order of their names, that of old-style names first.
	Authorities []Authority `json:"authorities,omitempty"`
	// Resources are those that are watched, the members of collections that are, and
	// those collections, ordered by type and name.
	Resources []Resource `json:"resources,omitempty"`
	// SlowWatchers counts how often a watcher took longer than it is waited for.
	SlowWatchers uint64 `json:"slowWatchers,omitzero"`
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
	Entry *bootstrap.Server `json:"entry,omitzero"`
	State ServerState       `json:"state,omitzero"`
	// Delta says that the incremental variant of the protocol is spoken, or tried.
	Delta bool `json:"delta,omitzero"`
	// RetryAt is when a server that is waited for is tried again.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Err is why the server could last not be reached, or why a stream last ended with an
	// error, at ErrAt; nil if neither happened. It may be over.
	Err   error     `json:"-"`
	ErrAt time.Time `json:"errorAt,omitzero"`
	// DownSince is the begin of the current outage. It is zero if the server can be
	// reached, or if its state is unknown. Attempts failed since then.
	DownSince time.Time `json:"downSince,omitzero"`
	Attempts  int       `json:"attempts,omitzero"`

	Streams   uint64 `json:"streams"` // opened so far
	Requests  uint64 `json:"requests"`
	Responses uint64 `json:"responses"`
	Rejected  uint64 `json:"rejected"`      // responses
	Repeated  uint64 `json:"repeated"`      // names that the client asked for again because the server did not answer
	Sent      uint64 `json:"sentBytes"`     // bytes, of requests
	Received  uint64 `json:"receivedBytes"` // bytes, of responses
}

// An Authority is one authority of the bootstrap file, or all old-style names.
type Authority struct {
	Name     string              `json:"name,omitzero"` // empty for old-style names, and for the empty authority
	OldStyle bool                `json:"oldStyle,omitzero"`
	Servers  []*bootstrap.Server `json:"servers,omitempty"` // in the order in which they are used (gRFC A71)
	Active   *bootstrap.Server   `json:"active,omitzero"`   // in use; nil when nothing is watched
}

// A Resource is what is known of a resource or a collection.
type Resource struct {
	Type      string     `json:"type"` // full name of the message
	Name      xdstp.Name `json:"name"`
	Authority string     `json:"authority,omitzero"`
	// State is REQUESTED, ACKED, NACKED, DOES_NOT_EXIST, TIMEOUT or RECEIVED_ERROR
	// (gRFC A88).
	State string `json:"state"`
	// Update is in use, since Updated; nil when there is none.
	Update  resource.Update `json:"-"`
	Version string          `json:"version,omitzero"` // with which it was last sent
	Updated time.Time       `json:"updated,omitzero"`
	Expires time.Time       `json:"expires,omitzero"` // the end of its time to live; zero: there is none
	// Err is what is wrong, beside an Update that stays in use or with the resource
	// itself.
	Err error `json:"-"`
	// RejectedVersion is the last one that was rejected, at RejectedAt.
	RejectedVersion string    `json:"rejectedVersion,omitzero"`
	RejectedAt      time.Time `json:"rejectedAt,omitzero"`
	// Collection says that this is a wildcard or a glob collection.
	Collection bool      `json:"collection,omitzero"`
	Watchers   []Watcher `json:"watchers,omitempty"`
}

// A Watcher is one watcher of a resource.
type Watcher struct {
	// Behind is for how long something new has been waiting for the watcher; zero
	// when it knows everything.
	Behind time.Duration `json:"-"`
}
