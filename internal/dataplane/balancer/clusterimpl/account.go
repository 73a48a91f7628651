package clusterimpl

import (
	"errors"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/metadata"

	// It reads the metrics that endpoints send with their trailers (A51).
	_ "google.golang.org/grpc/orca"

	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/outlier"
)

// An account counts the calls of one endpoint. It is immutable. A call ends with the account that
// it began with, even if the endpoint has another one by then.
type account struct {
	breaker *breaker.Counter
	load    *load.Locality // nil: load is not reported
	// metrics says that load reports include the endpoint's metrics (A85).
	metrics bool
	outlier *outlier.Endpoint // nil: no outlier detection
	// authority is the authority of calls that are rewritten for the endpoint (A81). It is nil if
	// the endpoint has no hostname.
	authority metadata.MD
	// done is finish. It is made once, to save an allocation for each call.
	done func(balancer.DoneInfo)
}

// open completes an account.
func (a *account) open() *account {
	a.done = a.finish
	return a
}

// start counts a call in the load report. The breaker has counted it already.
func (a *account) start() {
	if a.load != nil {
		a.load.CallStarted()
	}
}

// errNotSent is the load report's error of a call whose endpoint had disconnected before it was
// sent. gRPC picks again and gives no error.
var errNotSent = errors.New("the endpoint is not connected any more")

// finish counts the end of a call.
func (a *account) finish(info balancer.DoneInfo) {
	a.breaker.End()
	sent := info.Err != nil || info.BytesSent || info.BytesReceived
	if !sent {
		info.Err = errNotSent
	}
	if a.outlier != nil && sent {
		a.outlier.Record(info.Err == nil)
	}
	if a.load == nil {
		return
	}
	var m *load.Metrics
	if r, ok := info.ServerLoad.(*orcav3.OrcaLoadReport); a.metrics && ok && r != nil {
		m = &load.Metrics{
			CPU: r.GetCpuUtilization(), Memory: r.GetMemUtilization(), Application: r.GetApplicationUtilization(),
			Named: r.GetNamedMetrics(),
		}
	}
	a.load.CallFinished(info.Err, m)
}

// isEjected reports whether the endpoint is ejected. It is called on the loop.
func (a *account) isEjected() bool { return a.outlier != nil && a.outlier.Ejected() }
