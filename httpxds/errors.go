package httpxds

import (
	"strings"

	"github.com/xdsforge/xdsforge/internal/printable"
)

// A Reason says why a request received no response.
type Reason uint8

// The reasons.
const (
	// NoRoute: no route of the target matches the request, or there is no usable configuration.
	NoRoute Reason = iota + 1
	// NoEndpoint: the cluster of the route has no usable endpoint.
	NoEndpoint
	// Dropped: the configuration drops a share of the requests, and this is one of them.
	Dropped
	// Overflow: a circuit breaker of the cluster does not admit the request.
	Overflow
	// Timeout: the time limit of the route or of the last attempt has passed. The deadline of the request's own
	// context is not a reason: its error is returned unchanged.
	Timeout
	// Connect: no connection to the endpoint could be opened.
	Connect
	// Reset: the connection failed after the request was assigned to it.
	Reset
	// Filtered: an HTTP filter has ended the request with an error.
	Filtered
	// Invalid: the program made the request wrongly, or its body failed. No endpoint was tried, or its account does not
	// have the request. [WithGatewayResponses] leaves the error as it is.
	Invalid
)

// String returns a few words, such as "no route".
func (r Reason) String() string {
	switch r {
	case NoRoute:
		return "no route"
	case NoEndpoint:
		return "no endpoint"
	case Dropped:
		return "dropped"
	case Overflow:
		return "overflow"
	case Timeout:
		return "timeout"
	case Connect:
		return "connection failed"
	case Reset:
		return "connection reset"
	case Filtered:
		return "ended by an HTTP filter"
	case Invalid:
		return "invalid request"
	default:
		return "unknown reason"
	}
}

// An Error is the error of a request that received no response. [http.Client] wraps it in a *url.Error, so use
// errors.As.
type Error struct {
	// Reason says which part failed.
	Reason Reason
	// Route, Cluster and Endpoint are the names of the route and the cluster, and the address of the endpoint. They are
	// empty if the request was not assigned to one, or if the route has no name.
	Route, Cluster, Endpoint string
	// Err is the cause. It may be nil.
	Err error
}

// Error implements error. It escapes the names, which control planes choose.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("httpxds: ")
	for _, part := range []struct{ kind, name string }{{"route", e.Route}, {"cluster", e.Cluster}, {"endpoint", e.Endpoint}} {
		if part.name != "" {
			b.WriteString(part.kind + " " + printable.Quote(part.name, printable.Short) + ": ")
		}
	}
	b.WriteString(e.Reason.String())
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether a time limit has passed. It makes the Timeout method of *url.Error work.
func (e *Error) Timeout() bool { return e.Reason == Timeout }
