package outlier

import (
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A FailureError is the error of an HTTP request, for the account of its endpoint.
type FailureError struct {
	// Status is the status of the response. For a request without a response it is that of a proxy.
	Status int
	// Local says that the request has no response.
	Local bool
	// Ignored says that the failure is not one of the endpoint: the caller has ended the request.
	Ignored bool
}

// Error implements error.
func (f *FailureError) Error() string { return "status " + strconv.Itoa(f.Status) }

// A Kind is a kind of consecutive failures.
type Kind uint8

// The kinds, as flags.
const (
	FiveXX Kind = 1 << iota
	Gateway
	Local
)

// The methods of HTTP clusters, beside those of gRFC A50. The names are those of Envoy's ejection events.
const (
	ConsecutiveFiveXX      = "consecutive_5xx"
	ConsecutiveGateway     = "consecutive_gateway_failure"
	ConsecutiveLocal       = "consecutive_local_origin_failure"
	LocalSuccessRate       = "success_rate_local_origin"
	LocalFailurePercentage = "failure_percentage_local_origin"
)

// httpCounts are the counts of an endpoint of an HTTP cluster.
type httpCounts struct {
	config atomic.Pointer[cluster.HTTPOutlier]
	local  counts // requests by whether they have a response, if the configuration splits them

	// The numbers of consecutive failures.
	fiveXX, gateway, origin atomic.Uint32
}

func local(e *Endpoint) *counts { return &e.http.local }

// detects reports whether a configuration of HTTP can eject endpoints.
func detects(c *cluster.HTTPOutlier) bool {
	return c.FiveXXChance+c.GatewayChance > 0 || c.Split && c.LocalChance+c.LocalSuccessRate+c.LocalFailurePercentage > 0
}

// ConfigureHTTP is [Machine.Configure] for an HTTP cluster.
func (m *Machine) ConfigureHTTP(config *cluster.OutlierDetection, h cluster.HTTPOutlier, names []string, now time.Time) {
	m.http, m.isHTTP = h, true
	m.configure(config, names, now)
}

// setHTTP sets the configuration of an endpoint.
func (e *Endpoint) setHTTP(c cluster.HTTPOutlier) {
	if e.http == nil {
		e.http = new(httpCounts)
		e.http.local.active.Store(&e.http.local.buckets[0])
	}
	e.http.config.Store(&c)
}

// RecordHTTP counts the end of a request of an HTTP cluster, whose error may be a [*FailureError]. It returns the kinds of
// consecutive failures that have reached their number. It is safe for concurrent use.
func (e *Endpoint) RecordHTTP(err error) (reached Kind) {
	status, isLocal := http.StatusOK, false
	if err != nil {
		status, isLocal = http.StatusServiceUnavailable, true // of a connection that could not be opened
		if f, ok := errors.AsType[*FailureError](err); ok {
			if f.Ignored {
				return 0
			}
			status, isLocal = f.Status, f.Local
		}
	}
	h := e.http
	c := h.config.Load()
	if c.Split {
		h.local.Record(!isLocal)
		if reached = count(&h.origin, isLocal, c.Local, Local); isLocal {
			return reached
		}
	}
	e.Record(status < http.StatusInternalServerError)
	isGateway := status >= http.StatusBadGateway && status <= http.StatusGatewayTimeout
	reached |= count(&h.gateway, isGateway, c.Gateway, Gateway)
	return reached | count(&h.fiveXX, status >= http.StatusInternalServerError, c.FiveXX, FiveXX)
}

// count counts a failure, or ends a series of failures. It returns the kind if the series has reached its number. Then another
// series begins.
func count(n *atomic.Uint32, failed bool, most uint32, k Kind) Kind {
	if !failed {
		if n.Load() != 0 { // storing would be slower
			n.Store(0)
		}
		return 0
	}
	if n.Add(1) < most {
		return 0
	}
	n.Store(0)
	return k
}

// Consecutive handles kinds of failures that have reached their number. It reports whether it has ejected the endpoint.
func (m *Machine) Consecutive(e *Endpoint, reached Kind, now time.Time) bool {
	for _, k := range []struct {
		kind        Kind
		method      string
		enforcement uint32
	}{
		{Local, ConsecutiveLocal, m.http.LocalChance},
		{Gateway, ConsecutiveGateway, m.http.GatewayChance},
		{FiveXX, ConsecutiveFiveXX, m.http.FiveXXChance},
	} {
		if reached&k.kind != 0 && m.config != nil && !e.ejected {
			m.eject(e, k.method, k.enforcement, now)
		}
	}
	return e.ejected
}
