package adsserver

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// A Config sets up a [Core].
type Config struct {
	// Source has all resources, apart from those of Authorities. It may be nil.
	Source source.Source
	// Authorities has the sources of authorities of xdstp names, by decoded name.
	Authorities map[string]source.Source
	// Type describes a type by its URL. The core ignores requests for types that are not ok. Nil
	// stands for [AnyType].
	Type func(url string) (t Type, ok bool)
	// MaxStaleness is the time for which a source may be stale or down before the streams that use it
	// end. Zero is for ever.
	MaxStaleness time.Duration
	// Rejected, if not nil, is called with each rejection of a client, and with About of its stream. It must return at once.
	Rejected func(about any, r source.Rejection)
	// State, if not nil, is called after each change of the state of a source. It must return at once.
	State func()
	// Coalesce is the least time between two rounds of responses that changes of resources cause. The first
	// change after a pause is sent at once. Answers to requests do not wait. Zero sends each change at once.
	Coalesce time.Duration
	// AnswerTimeout is the time after which a name gets an error if its source has not answered. A complete type waits
	// for the answers to all names in state of the world, and no longer for this one then, unless the client has
	// resources of an earlier stream. Zero waits for ever.
	AnswerTimeout time.Duration
	// RemovalPause is the time without messages after which removals are sent; see [departure]. Zero sends them at once
	// after all changes.
	RemovalPause time.Duration
	// EndOnDown ends all streams when Source is down. Otherwise they are served further.
	EndOnDown bool
	// Changed, if not nil, is called after each event that may interest an observer: requests,
	// responses and changes. It must return at once.
	Changed func()
	Limits  Limits
}

// A Type describes how resources of a type are sent.
type Type struct {
	// URL is the canonical type URL. Empty means that of the request. A client may spell the part before the last
	// slash in any way, and still has one type.
	URL string
	// Complete means that a state-of-the-world response has every resource that the client
	// subscribes to.
	Complete bool
	// Wrapped means that the messages carry no name, so that state-of-the-world responses need the
	// wrapper envoy.service.discovery.v3.Resource.
	Wrapped bool
	// PeekName reads the name in a message. If it is another one than that of the resource, the
	// resource is wrapped, too. Nil trusts the messages.
	PeekName func(body []byte) (string, error)
}

// Limits bound what one client can cause. A stream that exceeds one ends with a [*LimitError]. Zero
// selects the default.
type Limits struct {
	Names       int // subscriptions of a stream, of all types. Default 100,000.
	NameBytes   int // length of a name. Default 8192, the limit of xdstp names.
	TotalBytes  int // sum of the lengths of all names of a stream. Default 16 MiB.
	Collections int // subscriptions of a stream to collections, of all types. Default 10,000.
	Types       int // types of a stream. Default 100.
	// InitialVersions and InitialBytes bound the number and the memory of the initial_resource_versions of a stream and
	// type, until they are compared. Defaults 500,000 and 64 MiB.
	InitialVersions, InitialBytes int
	ResponseBytes                 int // of a response of the delta protocol with several resources or removals. Default 4 MiB minus 64 kB.
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, n int) {
		if *v == 0 {
			*v = n
		}
	}
	set(&l.Names, 100_000)
	set(&l.NameBytes, 8192)
	set(&l.TotalBytes, 16<<20)
	set(&l.Collections, 10_000)
	set(&l.Types, 100)
	set(&l.InitialVersions, 500_000)
	set(&l.InitialBytes, 64<<20)
	l.InitialBytes = min(l.InitialBytes, math.MaxUint32)
	set(&l.ResponseBytes, 4<<20-64<<10) // a gRPC client accepts 4 MiB by default
	return l
}

// A LimitError ends the stream of a client that exceeds a limit.
type LimitError struct {
	Limit  string // such as "names"
	Of     string // whose limit it is; "" for the stream
	Value  int
	Max    int
	Option string // the option that raises it; "" if there is none
}

// Error implements error.
func (e *LimitError) Error() string {
	text := fmt.Sprintf("ads: %s of the %s = %d; must not be more than %d", e.Limit, cmp.Or(e.Of, "stream"), e.Value, e.Max)
	if e.Option != "" {
		text += " (" + e.Option + ")"
	}
	return text
}

// ErrClosed is the error of a closed core.
var ErrClosed = errors.New("ads: the server is closed")

// ErrMalformed is in the chain of the error of a stream whose request cannot be decoded.
var ErrMalformed = errors.New("ads: malformed request")

// ErrDenied is in the chain of the error of a stream whose client has no permission at all.
var ErrDenied = errors.New("ads: permission denied")

const (
	typePrefix  = "type.googleapis.com/"
	listenerURL = "type.googleapis.com/envoy.config.listener.v3.Listener"
	clusterURL  = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
	endpointURL = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"
	routeURL    = "type.googleapis.com/envoy.config.route.v3.RouteConfiguration"
)

// AnyType serves all types. It wraps all resources but those of the four types of gRPC, which have
// names.
func AnyType(url string) (Type, bool) {
	switch url {
	case listenerURL, clusterURL:
		return Type{Complete: true}, true
	case endpointURL, routeURL:
		return Type{}, true
	}
	return Type{Wrapped: true}, true
}

// TypesOf serves the types of a set and their list collections.
func TypesOf(set *resource.Set) func(url string) (Type, bool) {
	types := make(map[string]Type)
	for _, t := range set.All() {
		types[t.Name] = Type{URL: typePrefix + t.Name, Complete: t.Complete, Wrapped: t.PeekName == nil, PeekName: t.PeekName}
		if t.Collection != "" {
			types[t.Collection] = Type{URL: typePrefix + t.Collection, Wrapped: true}
		}
	}
	return func(url string) (Type, bool) {
		t, ok := types[envelope.MessageName(url)]
		return t, ok && strings.Contains(url, "/")
	}
}

// rank orders types in which new resources are sent.
func rank(url string) int {
	switch url {
	case clusterURL:
		return rankClusters
	case endpointURL:
		return rankEndpoints
	case listenerURL:
		return rankListeners
	case routeURL:
		return rankRoutes
	}
	return rankOthers
}

// Ranks of types. A type that depends on another one has the next rank.
const (
	rankClusters = iota
	rankEndpoints
	rankListeners
	rankRoutes
	rankOthers
)
