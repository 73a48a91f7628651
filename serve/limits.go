package serve

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/internal/adsserver"
)

// Limits bound the work and the memory that clients can cause. A stream that exceeds a limit ends with
// RESOURCE_EXHAUSTED and an error that names the limit. Zero selects the default.
//
// A client is an identity, or an address if the client has no certificate. Clients behind one address count as one, and
// so do those of one IPv6 network of IPv6Prefix bits.
type Limits struct {
	Streams       int // open streams of the server. Default 100,000.
	ClientStreams int // open streams of a client. Default 20,000.

	RequestBytes int // size of a request. Default 4 MiB, and grpc.MaxRecvMsgSize applies, too.
	Requests     int // requests of a stream a second. The first 10 seconds may be used at once. Default 1,000.
	Bytes        int // bytes of requests of a stream a second, as above. Default 8 MiB.

	Types       int // types of a stream. Default 100.
	Names       int // subscriptions of a stream, of all types. Default 100,000.
	Collections int // subscriptions of a stream to collections (globs and wildcards), of all types. Default 10,000.
	NameBytes   int // length of a name, also of one in a load report. Default 8192.
	TotalBytes  int // sum of the lengths of all names of a stream. Default 16 MiB.

	// InitialVersions is the number of initial_resource_versions of a stream and type, and InitialBytes the memory that
	// they may need until they are compared: the lengths of their names and versions, and about 12 bytes for each.
	// Defaults 500,000 and 64 MiB. Their request must fit into RequestBytes, too.
	InitialVersions, InitialBytes int

	ClientNames int // subscriptions of all streams of a client. Default 2,000,000.

	// ClientBytes is the memory of the names, subscriptions, initial versions and nodes of all streams of a client. A name
	// costs its length and 320 bytes, a member of a subscribed collection 64 bytes. Requests that wait and unread responses
	// that no other client shares cost their lengths. Default 256 MiB.
	ClientBytes int

	// ResponseBytes is the size from which the server divides responses of the delta protocol. A
	// larger resource is sent alone. Responses in state of the world cannot be divided. Default: 4 MiB
	// minus 64 KiB, because gRPC clients accept 4 MiB by default.
	ResponseBytes int

	// LoadClusters is the number of clusters of a load report, and of those that a client adds to the totals. The names
	// that a client adds to the totals have TotalBytes together. Default 10,000.
	LoadClusters int
	LoadElements int // localities, metrics, endpoints and categories of drops in a load report. Default 100,000.

	NodeBytes    int           // size of a node that the server decodes, for load reports and WithViews. Default 256 KiB.
	FirstRequest time.Duration // time in which a stream must send its first request. Default 10 s.
	IPv6Prefix   int           // bits of an IPv6 address that identify a client without a certificate. Default 64.
}

// withDefaults returns the limits to use.
func (l Limits) withDefaults() (Limits, error) {
	var errs []error
	for _, f := range []struct {
		name  string
		value *int
		def   int
	}{
		{"Streams", &l.Streams, 100_000},
		{"ClientStreams", &l.ClientStreams, 20_000},
		{"RequestBytes", &l.RequestBytes, 4 << 20},
		{"Requests", &l.Requests, 1000},
		{"Bytes", &l.Bytes, 8 << 20},
		{"Types", &l.Types, 100},
		{"Names", &l.Names, 100_000},
		{"Collections", &l.Collections, 10_000},
		{"NameBytes", &l.NameBytes, 8192},
		{"TotalBytes", &l.TotalBytes, 16 << 20},
		{"InitialVersions", &l.InitialVersions, 500_000},
		{"InitialBytes", &l.InitialBytes, 64 << 20},
		{"ClientNames", &l.ClientNames, 2_000_000},
		{"ClientBytes", &l.ClientBytes, 256 << 20},
		{"ResponseBytes", &l.ResponseBytes, 4<<20 - 64<<10},
		{"LoadClusters", &l.LoadClusters, 10_000},
		{"LoadElements", &l.LoadElements, 100_000},
		{"NodeBytes", &l.NodeBytes, 256 << 10},
		{"IPv6Prefix", &l.IPv6Prefix, 64},
	} {
		switch {
		case *f.value < 0:
			errs = append(errs, fmt.Errorf("WithLimits: Limits.%s = %d; must not be negative", f.name, *f.value))
		case *f.value == 0:
			*f.value = f.def
		}
	}
	switch {
	case l.FirstRequest < 0:
		errs = append(errs, fmt.Errorf("WithLimits: Limits.FirstRequest = %v; must not be negative", l.FirstRequest))
	case l.FirstRequest == 0:
		l.FirstRequest = 10 * time.Second
	}
	if l.IPv6Prefix > 128 {
		errs = append(errs, fmt.Errorf("WithLimits: Limits.IPv6Prefix = %d; must be at most 128", l.IPv6Prefix))
	}
	return l, errors.Join(errs...)
}

func (l *Limits) core() adsserver.Limits {
	return adsserver.Limits{
		Names: l.Names, Collections: l.Collections, NameBytes: l.NameBytes, TotalBytes: l.TotalBytes, Types: l.Types,
		InitialVersions: l.InitialVersions, InitialBytes: l.InitialBytes, ResponseBytes: l.ResponseBytes,
	}
}

// An account has the streams and names of one client.
type account struct {
	streams int // guarded by the server
	budget  adsserver.Budget
}

// A meter bounds the requests of one stream. One goroutine uses it.
type meter struct {
	requests, bytes bucket
}

// burst is the time whose requests may be made at once.
const burst = 10 * time.Second

func newMeter(l *Limits, now time.Time) *meter {
	fill := func(rate int) bucket {
		return bucket{rate: float64(rate), level: float64(rate) * burst.Seconds(), at: now}
	}
	return &meter{fill(l.Requests), fill(l.Bytes)}
}

// request takes the cost of a request. It returns an error if that exceeds a limit.
func (m *meter) request(size int, l *Limits, now time.Time) error {
	switch {
	case size > l.RequestBytes:
		return &adsserver.LimitError{Limit: "size of a request", Value: size, Max: l.RequestBytes, Option: "Limits.RequestBytes"}
	case !m.requests.take(1, now):
		return &adsserver.LimitError{Limit: "requests a second", Value: l.Requests + 1, Max: l.Requests, Option: "Limits.Requests"}
	case !m.bytes.take(float64(size), now):
		return &adsserver.LimitError{Limit: "bytes of requests a second", Value: l.Bytes + size, Max: l.Bytes, Option: "Limits.Bytes"}
	}
	return nil
}

// A bucket is a token bucket.
type bucket struct {
	rate, level float64
	at          time.Time
}

func (b *bucket) take(n float64, now time.Time) bool {
	b.level = min(b.level+b.rate*now.Sub(b.at).Seconds(), b.rate*burst.Seconds())
	b.at = now
	if b.level < n {
		return false
	}
	b.level -= n
	return true
}

// accounts has the accounts of all clients with streams, by client.
type accounts struct {
	mu      sync.Mutex
	streams int
	clients map[string]*account
}

// enter opens a stream of a client.
func (a *accounts) enter(client string, l *Limits) (*account, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.clients[client]
	switch {
	case a.streams >= l.Streams:
		return nil, &adsserver.LimitError{Limit: "streams", Of: "server", Value: a.streams + 1, Max: l.Streams, Option: "Limits.Streams"}
	case x != nil && x.streams >= l.ClientStreams:
		return nil, &adsserver.LimitError{Limit: "streams", Of: "client", Value: x.streams + 1, Max: l.ClientStreams, Option: "Limits.ClientStreams"}
	case x == nil:
		x = &account{budget: adsserver.Budget{Names: l.ClientNames, Bytes: l.ClientBytes}}
		a.clients[client] = x
	}
	x.streams++
	a.streams++
	return x, nil
}

// leave closes a stream of a client.
func (a *accounts) leave(client string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.clients[client]
	x.streams--
	a.streams--
	if x.streams == 0 {
		delete(a.clients, client)
	}
}
