package policy

import (
	"math"
	"strings"
	"sync"
	"time"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/balancer"
)

// An endpointLoad computes the weight of an endpoint of weighted_round_robin from its load reports.
type endpointLoad struct {
	// done handles the end of a call. It is made once, to save an allocation for each call.
	done func(balancer.DoneInfo)

	// The loop owns the fields below.
	conn    balancer.SubConn // the connection that the weight is of; nil: not connected
	stop    func()           // ends the reports apart from calls; nil: there are none
	started time.Time        // the time at which the endpoint became ready (A100)

	mu     sync.Mutex // guards the fields below
	config *weightedConfig
	weight float64
	first  time.Time // of the first report since the connection, or since the weight has expired
	newest time.Time // of the newest report
}

func newEndpointLoad(config *weightedConfig) *endpointLoad {
	l := &endpointLoad{config: config}
	l.done = func(d balancer.DoneInfo) {
		if r, ok := d.ServerLoad.(*orcav3.OrcaLoadReport); ok && r != nil {
			l.OnLoadReport(r)
		}
	}
	return l
}

// connect sets the subchannel of an endpoint that is ready. The weight starts anew, unless the endpoint
// has kept its connection, because it was ejected or its health was bad.
func (l *endpointLoad) connect(sc balancer.SubConn) {
	l.started = time.Now()
	if l.conn == sc {
		return
	}
	l.disconnect()
	l.mu.Lock()
	l.weight, l.first, l.newest = 0, time.Time{}, time.Time{}
	config := l.config
	l.mu.Unlock()
	l.conn = sc
	l.listen(config)
}

// disconnect ends the reports of the connection.
func (l *endpointLoad) disconnect() {
	if l == nil {
		return
	}
	if l.stop != nil {
		l.stop()
	}
	l.conn, l.stop = nil, nil
}

// configure replaces the configuration.
func (l *endpointLoad) configure(config *weightedConfig) {
	if l == nil { // it was never connected
		return
	}
	l.mu.Lock()
	last := l.config
	l.config = config
	l.mu.Unlock()
	if l.conn == nil || last.OOB == config.OOB && last.Report == config.Report {
		return
	}
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
	l.listen(config)
}

func (l *endpointLoad) listen(config *weightedConfig) {
	if config.OOB {
		l.stop = listen(l.conn, l, time.Duration(config.Report))
	}
}

// OnLoadReport computes the weight anew, unless the report has no load. It implements
// [orca.OOBListener].
func (l *endpointLoad) OnLoadReport(r *orcav3.OrcaLoadReport) {
	l.mu.Lock()
	defer l.mu.Unlock()
	used, calls := utilization(r, l.config.Metrics), r.GetRpsFractional()
	if !(used > 0) || !(calls > 0) { // NaN, too
		return
	}
	w := calls / (used + max(r.GetEps(), 0)/calls*l.config.Penalty)
	if !(w > 0) || math.IsInf(w, 0) {
		return
	}
	l.weight, l.newest = w, time.Now()
	if l.first.IsZero() {
		l.first = l.newest
	}
}

// utilization returns the largest of the named metrics (A114). If a report has none of them, it
// returns the utilization of the application, or else of the processor (A58).
func utilization(r *orcav3.OrcaLoadReport, names []string) float64 {
	var most float64
	for _, name := range names {
		if v := metric(r, name); v > most { // ignores NaN and values that are not positive
			most = v
		}
	}
	if most > 0 {
		return most
	}
	if v := r.GetApplicationUtilization(); v > 0 {
		return v
	}
	return r.GetCpuUtilization()
}

// metric returns a metric of a report, or 0 if the report does not have it. A114 lists the names.
func metric(r *orcav3.OrcaLoadReport, name string) float64 {
	switch name {
	case "application_utilization":
		return r.GetApplicationUtilization()
	case "cpu_utilization":
		return r.GetCpuUtilization()
	case "mem_utilization":
		return r.GetMemUtilization()
	}
	switch field, key, _ := strings.Cut(name, "."); field {
	case "named_metrics":
		return r.GetNamedMetrics()[key]
	case "utilization":
		return r.GetUtilization()[key]
	}
	return 0
}

// A usability says whether a weight may be used.
type usability int

const (
	usable usability = iota
	notYet           // there is no report, or the reports are of too short a time
	stale            // the newest report is too old
)

// current returns the weight. It is 0 if it may not be used.
func (l *endpointLoad) current(now time.Time, config *weightedConfig) (float64, usability) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.newest.IsZero():
		return 0, notYet
	case now.Sub(l.newest) >= time.Duration(config.Expire):
		l.first = time.Time{}
		return 0, stale
	case config.Blackout > 0 && (l.first.IsZero() || now.Sub(l.first) < time.Duration(config.Blackout)):
		return 0, notYet
	}
	return l.weight, usable
}
