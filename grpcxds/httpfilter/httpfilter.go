package httpfilter

import (
	"errors"
	"log/slog"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/grpcservice"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A Filter is an HTTP filter that runs. At least one of NewServer and NewClient is set, according to the sides that
// HTTPFilter supports. A terminal filter, which only ends a list, needs neither.
type Filter struct {
	// HTTPFilter reads and validates the configuration.
	*resource.HTTPFilter
	// NewServer creates the instance of an entry in the list of a server's filter chain. [ServerFunc] returns it for
	// filters that keep nothing between updates.
	NewServer func(Host) (ServerInstance, error)
	// NewClient creates the instance of an entry in the list of a channel. See [ClientFunc].
	NewClient func(Host) (ClientInstance, error)
}

// A Host describes the channel or server of an instance.
type Host struct {
	// Name is the name of the entry in the list of filters.
	Name string
	// Target is the URI of the channel. It is empty on servers.
	Target string
	// Cluster returns the newest resource of a cluster of the channel, such as [ClientCall].Cluster, or the reason why
	// there is none. It is nil on servers.
	Cluster func(name string) (*cluster.Update, error)
	// Channel returns the channel to a service that a configuration names (gRFC A102). Filters share it: the last release
	// closes it. Its calls have the time limit, headers and credentials of the service, and not the headers of the context.
	// An instance keeps the channel across updates if its new interceptor takes it before the old one releases it. Channel
	// returns an error on the channel to a service.
	Channel func(s *grpcservice.Service) (cc grpc.ClientConnInterface, release func(), err error)
	// Filter returns the filter that runs with a configuration message, or nil. It is for filters that contain filters (gRFC
	// A103).
	Filter func(message string) *Filter
	// Meter makes instruments. It is never nil.
	Meter metric.Meter
	// Logger is the logger of the channel or server. It is never nil.
	Logger *slog.Logger
}

// ErrEnd ends a client's call as if the server had immediately sent trailers with the status OK (gRFC A33). A
// [ClientInterceptor] returns it.
var ErrEnd = errors.New("httpfilter: the call ends with OK, and without a message")

// An ending notifies filters when their call ends.
type ending struct {
	mu   sync.Mutex
	done []func(error)
	over bool
	err  error
}

// OnDone registers f to be called when the call is over, with the call's error: the status that the caller receives,
// or on servers the one that the client is sent. A stream is over when its last message has been handled. Functions run
// in reverse order of registration, also if a later filter ends the call. If the call is over already, f runs at once.
func (e *ending) OnDone(f func(err error)) {
	e.mu.Lock()
	if e.over {
		e.mu.Unlock()
		f(e.err)
		return
	}
	e.done = append(e.done, f)
	e.mu.Unlock()
}

// Done marks the call as over and calls the functions of OnDone. The caller of the interceptors uses it, not the
// filters.
func (e *ending) Done(err error) {
	e.mu.Lock()
	done := e.done
	e.done, e.over, e.err = nil, true, err
	e.mu.Unlock()
	for _, f := range slices.Backward(done) {
		f(err)
	}
}
