package status

import (
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// A Snapshot is the state of a client at one moment. It never changes and may be read by any number
// of goroutines. Its JSON contains everything but credentials and secrets. Each of its parts prints
// as one line.
//
// A summary is a Snapshot without Resources. The client takes it in the same time for any number of
// resources.
type Snapshot struct {
	// Scope names the user of the client (gRFC A71). It is the target of gRPC channels, "#server"
	// for gRPC servers, or the name that the program gave its own client.
	Scope  string    `json:"scope,omitzero"`
	Taken  time.Time `json:"taken,omitzero"`
	NodeID string    `json:"nodeId,omitzero"`
	// Node is the node as the client sends it: the node of the bootstrap, with user agent and client
	// features. It belongs to the snapshot.
	Node *corev3.Node `json:"-"`
	// Servers are the servers of the bootstrap file, each once, in the order in which authorities
	// first name them.
	Servers []Server `json:"servers,omitempty"`
	// Traffic is ordered by servers, as in Servers, and types. It has the types of responses.
	Traffic []Traffic `json:"traffic,omitempty"`
	// Authorities are ordered by name. The entry for old-style names is first.
	Authorities []Authority `json:"authorities,omitempty"`
	// Resources are the watched resources, the watched collections, and the members of those
	// collections, ordered by type and name.
	Resources []Resource `json:"resources,omitempty"`
	// Counts are the numbers of resources by authority, type and state, in that order. Collections
	// are not counted.
	Counts []Count `json:"counts,omitempty"`
	// SlowWatchers counts how often a watcher exceeded its time budget.
	SlowWatchers uint64 `json:"slowWatchers,omitzero"`
}

// A ServerState is the state of a client's connection to a server.
type ServerState string

// The states of a server.
const (
	Idle       ServerState = "IDLE"       // the client does not need it
	Connecting ServerState = "CONNECTING" // a stream is being opened
	Connected  ServerState = "CONNECTED"  // the stream is open
	Waiting    ServerState = "WAITING"    // until the next attempt
)

// A Server is one entry of the bootstrap file.
type Server struct {
	Entry *bootstrap.Server `json:"entry,omitzero"`
	State ServerState       `json:"state,omitzero"`
	// Connected reports whether the server works, as gRFC A78 defines it for the metric
	// grpc.xds_client.connected. It is true from the first attempt on, until one fails or a stream
	// ends without a response. The next response makes it true again. It is false in the state Idle.
	Connected bool `json:"connected,omitzero"`
	// Failures counts how often Connected became false by a failure.
	Failures uint64 `json:"failures,omitzero"`
	// Delta reports whether the client uses, or tries, the incremental variant of the protocol.
	Delta bool `json:"delta,omitzero"`
	// RetryAt is the time of the next attempt, in the state Waiting.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Err is the reason of the last failed attempt or the last stream error, at ErrAt. It is nil if
	// neither happened. The problem may be over.
	Err   error     `json:"-"`
	ErrAt time.Time `json:"errorAt,omitzero"`
	// DownSince is the begin of the current outage. It is zero if the server is reachable, or if
	// its state is unknown. Attempts have failed since then.
	DownSince time.Time `json:"downSince,omitzero"`
	Attempts  int       `json:"attempts,omitzero"`

	Streams   uint64 `json:"streams"` // opened so far
	Requests  uint64 `json:"requests"`
	Responses uint64 `json:"responses"`
	Rejected  uint64 `json:"rejected"`      // responses
	Repeated  uint64 `json:"repeated"`      // names that the client requested again because the server did not answer
	Sent      uint64 `json:"sentBytes"`     // bytes, of requests
	Received  uint64 `json:"receivedBytes"` // bytes, of responses
}

// Traffic counts the resources of one type that one server has sent.
type Traffic struct {
	Server *bootstrap.Server `json:"server,omitzero"`
	Type   string            `json:"type"` // full name of the message
	// Version is that of the last response, clipped: in the incremental variant, system_version_info.
	Version string `json:"version,omitzero"`
	// Valid and Invalid count resources, with each response that contains them (gRFC A78). Resources
	// that nobody watches are not validated and not counted.
	Valid   uint64 `json:"valid"`
	Invalid uint64 `json:"invalid"`
}

// An Authority is one authority of the bootstrap file, or all old-style names.
type Authority struct {
	Name     string              `json:"name,omitzero"` // empty for old-style names, and for the empty authority
	OldStyle bool                `json:"oldStyle,omitzero"`
	Servers  []*bootstrap.Server `json:"servers,omitempty"` // in the order of preference (gRFC A71)
	Active   *bootstrap.Server   `json:"active,omitzero"`   // in use; nil when nothing is watched
	// Stored reports whether Active stands for the last known good store, because no server of the
	// bootstrap is reachable.
	Stored bool `json:"stored,omitzero"`
}

// A Resource is the state of a resource or a collection.
type Resource struct {
	Type      string     `json:"type"` // full name of the message
	Name      xdstp.Name `json:"name"`
	Authority string     `json:"authority,omitzero"`
	// State is REQUESTED, ACKED, NACKED, DOES_NOT_EXIST, TIMEOUT or RECEIVED_ERROR
	// (gRFC A88).
	State string `json:"state"`
	// Update is the update in use, since Updated; nil if there is none.
	Update resource.Update `json:"-"`
	// Origin says whether the first server, a fallback server or the last known good store sent Update.
	Origin  resource.Origin `json:"-"`
	Version string          `json:"version,omitzero"` // of the last response with it
	Updated time.Time       `json:"updated,omitzero"`
	Expires time.Time       `json:"expires,omitzero"` // the end of its time to live; zero: none
	// Err is a problem of the resource. If Update is set, it stays in use.
	Err error `json:"-"`
	// ErrAt is the time of the error that belongs to the state, such as the last rejection. It is
	// zero if Err only means that no control plane is reachable.
	ErrAt time.Time `json:"errorAt,omitzero"`
	// RejectedVersion is the last rejected version, at RejectedAt.
	RejectedVersion string    `json:"rejectedVersion,omitzero"`
	RejectedAt      time.Time `json:"rejectedAt,omitzero"`
	// RejectedMessage is the encoded message of RejectedVersion, as received. It is nil if the resource
	// is no longer rejected, or if the client has no room for it: it keeps messages of up to 64 KiB, and
	// 1 MiB of them for an authority. It must not be changed.
	RejectedMessage []byte `json:"-"`
	// Collection marks a wildcard or a glob collection.
	Collection bool      `json:"collection,omitzero"`
	Watchers   []Watcher `json:"watchers,omitempty"`
}

// A Watcher is one watcher of a resource.
type Watcher struct {
	// Behind is the time for which the watcher has not taken the newest state; zero if it has.
	Behind time.Duration `json:"-"`
}

// A Count is the number of resources of an authority by type and state. Its fields are the labels
// of the metric grpc.xds_client.resources (gRFC A78).
type Count struct {
	Authority string `json:"authority,omitzero"`
	OldStyle  bool   `json:"oldStyle,omitzero"`
	Type      string `json:"type"`  // full name of the message
	State     string `json:"state"` // as in Resource
	// Cached reports whether the resources have an update in use.
	Cached    bool `json:"cached,omitzero"`
	Resources int  `json:"resources"`
}

// CacheState returns the value of the label grpc.xds.cache_state (gRFC A78, gRFC A88), such as
// "nacked_but_cached".
func (c Count) CacheState() string {
	state := strings.ToLower(c.State)
	if c.Cached && c.State != "ACKED" {
		state += "_but_cached"
	}
	return state
}
