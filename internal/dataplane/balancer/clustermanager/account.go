package clustermanager

import (
	"errors"
	"iter"
	"log/slog"
	"reflect"
	"sync/atomic"
	"time"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/metadata"

	// It reads the metrics that endpoints send with their trailers (A51).
	_ "google.golang.org/grpc/orca"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/breaker"
	"github.com/xdsforge/xdsforge/internal/dataplane/labels"
	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/outlier"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/cluster"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

// An account counts the calls of one endpoint. It is immutable. A call ends with the account that
// it began with, even if the endpoint has another one by then.
type account struct {
	breaker *breaker.Counter
	load    *load.Locality // nil: load is not reported
	// metrics says that load reports include the endpoint's metrics (A85).
	metrics bool
	outlier *outlier.Endpoint // nil: no outlier detection
	// reached, if not nil, gets kinds of consecutive failures of an HTTP cluster.
	reached func(outlier.Kind)
	// authority is the authority of calls that are rewritten for the endpoint (A81). It is nil if
	// the endpoint has no hostname.
	authority metadata.MD
	// labels are the labels of calls to the endpoint.
	labels map[string]string
	// plain is the part that all endpoints of the locality have in common.
	plain *account
	// calls counts the calls in flight. The account that replaces this one shares it.
	calls *atomic.Int64
	// done is finish. It is made once, to save an allocation for each call.
	done func(balancer.DoneInfo)
}

// open completes an account.
func (a *account) open() *account {
	if a.calls == nil {
		a.calls = new(atomic.Int64)
	}
	a.done = a.finish
	return a
}

// start counts a call of the endpoint. The breaker has counted it already.
func (a *account) start() {
	a.calls.Add(1)
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
	a.calls.Add(-1)
	sent := info.Err != nil || info.BytesSent || info.BytesReceived
	if !sent {
		info.Err = errNotSent
	}
	if a.outlier != nil && sent {
		a.record(info.Err)
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

// record counts the end of a call for outlier detection.
func (a *account) record(err error) {
	if a.reached == nil {
		a.outlier.Record(err == nil)
		return
	}
	if kind := a.outlier.RecordHTTP(err); kind != 0 {
		a.reached(kind)
	}
}

// isEjected reports whether the endpoint is ejected. It is called on the loop.
func (a *account) isEjected() bool { return a.outlier != nil && a.outlier.Ejected() }

// A loadReport counts the load of a cluster for reports to one server.
type loadReport struct {
	name, service string
	server        *bootstrap.Server
	propagation   load.Propagation

	cluster    *load.Cluster // nil: load is not reported
	localities map[endpoint.LocalityID]*load.Locality
}

// matches reports whether o reports the same load to the same server.
func (l *loadReport) matches(o *loadReport) bool {
	same := l.server == o.server || l.server != nil && o.server != nil && l.server.Equal(o.server)
	return same && l.name == o.name && l.service == o.service && reflect.DeepEqual(l.propagation, o.propagation)
}

// metrics reports whether load reports include the endpoints' metrics (A85).
func (l *loadReport) metrics() bool { return !reflect.DeepEqual(l.propagation, load.Propagation{}) }

// open starts counting, if there is a server to report to.
func (l *loadReport) open(loads lbtree.Loads, logger *slog.Logger) {
	if l.server == nil || loads == nil {
		return
	}
	store, err := loads.LoadStore(l.server)
	if err != nil {
		if errors.Is(err, load.ErrServerNotInBootstrap) {
			logger.Warn("load is not reported", "cluster", printable.Text(l.name, printable.Short), "server", l.server.URI(), "error", err)
		}
		return
	}
	l.cluster = store.Cluster(l.name, l.service)
	l.localities = make(map[endpoint.LocalityID]*load.Locality)
}

// locality returns the counter of a locality's calls, or nil if load is not reported.
func (l *loadReport) locality(id endpoint.LocalityID) *load.Locality {
	if l.cluster == nil {
		return nil
	}
	h := l.localities[id]
	if h == nil {
		h = l.cluster.Locality(load.LocalityID(id), l.propagation)
		l.localities[id] = h
	}
	return h
}

// keep releases the localities that are not in use.
func (l *loadReport) keep(used map[endpoint.LocalityID]bool) {
	for id, h := range l.localities {
		if !used[id] {
			h.Release()
			delete(l.localities, id)
		}
	}
}

// end stops counting, except for calls in flight.
func (l *loadReport) end() {
	if l.cluster != nil {
		l.keep(nil)
		l.cluster.Release()
	}
}

// count makes the accounts of the endpoints. Unchanged endpoints keep theirs. If no account can have
// changed, it considers only the endpoints that were added or removed.
func (c *leafCluster) count(u *cluster.Update, priorities [][]lbtree.Locality, changed *changes) {
	detects := u.OutlierDetection != nil
	var keys []string
	if detects {
		for l := range all(priorities) {
			for i := range l.Endpoints {
				keys = append(keys, l.Endpoints[i].Key())
			}
		}
	}
	if u.HTTP != nil {
		c.outlier.ConfigureHTTP(u.OutlierDetection, u.HTTP.Outlier, keys, time.Now())
	} else {
		c.outlier.Configure(u.OutlierDetection, keys, time.Now())
	}
	used := make(map[endpoint.LocalityID]bool)
	plain := make(map[endpoint.LocalityID]*account)
	same := c.plain != nil && c.stray.breaker == c.breaker && !detects && !c.detected
	for l := range all(priorities) {
		used[l.ID] = true
		plain[l.ID] = c.plainAccount(l.ID)
		same = same && (c.plain[l.ID] == nil || c.plain[l.ID] == plain[l.ID])
	}
	if same {
		c.countChanged(plain, changed)
	} else {
		c.countAll(plain, priorities)
	}
	c.plain, c.detected = plain, detects
	c.load.keep(used)
	c.schedule()
}

// countAll replaces all accounts.
func (c *leafCluster) countAll(plain map[endpoint.LocalityID]*account, priorities [][]lbtree.Locality) {
	accounts := make(map[string]*account)
	for l := range all(priorities) {
		for i := range l.Endpoints {
			e := l.Endpoints[i]
			a := c.account(e, plain[l.ID], c.conn.account(e.Address()))
			for _, addr := range e.Addresses {
				accounts[addr.Addr] = a
			}
		}
	}
	stray := account{breaker: c.breaker, labels: labels.OfEndpoint(c.name, endpoint.LocalityID{})}
	c.stray = stray.open()
	c.conn.reassign(accounts, c.stray)
}

// countChanged replaces the accounts of endpoints that were added or removed.
func (c *leafCluster) countChanged(plain map[endpoint.LocalityID]*account, changed *changes) {
	accounts := make(map[string]*account, len(changed.added)+len(changed.removed))
	for i := range changed.removed {
		for _, addr := range changed.removed[i].Addresses {
			accounts[addr.Addr] = nil
		}
	}
	for i := range changed.added {
		e := &changed.added[i]
		a := c.account(e.Endpoint, plain[e.locality], c.conn.account(e.Address()))
		for _, addr := range e.Addresses {
			accounts[addr.Addr] = a
		}
	}
	c.conn.replace(accounts)
}

// all yields the localities of all priorities.
func all(priorities [][]lbtree.Locality) iter.Seq[*lbtree.Locality] {
	return func(yield func(*lbtree.Locality) bool) {
		for _, localities := range priorities {
			for i := range localities {
				if !yield(&localities[i]) {
					return
				}
			}
		}
	}
}

// plainAccount returns the part of accounts that all endpoints of a locality have in common. If
// nothing has changed it returns the present one.
func (c *leafCluster) plainAccount(id endpoint.LocalityID) *account {
	a := &account{breaker: c.breaker, load: c.load.locality(id), metrics: c.load.metrics(), labels: labels.OfEndpoint(c.name, id)}
	last := c.plain[id]
	if last != nil && last.breaker == a.breaker && last.load == a.load && last.metrics == a.metrics { // labels depend on the id alone
		return last
	}
	return a
}

// account returns an account of an endpoint. last is the one before, or nil. It stays in use if its
// locality's part stays, and nothing of it is of the endpoint alone.
func (c *leafCluster) account(e *lbtree.Endpoint, plain, last *account) *account {
	detects := c.config.Update.OutlierDetection != nil
	if last != nil && last.plain == plain && last.outlier == nil && last.authority == nil && !detects && e.Hostname == "" {
		return last
	}
	a := *plain
	a.plain = plain
	if detects {
		a.outlier = c.outlier.Endpoint(e.Key())
		if a.outlier != nil && c.config.Update.HTTP != nil {
			a.reached = c.consecutive(a.outlier)
		}
	}
	if e.Hostname != "" {
		a.authority = metadata.Pairs(":authority", e.Hostname)
	}
	if last != nil {
		a.calls = last.calls
	}
	return a.open()
}

// consecutive returns the function that handles consecutive failures of an endpoint on the loop.
func (c *leafCluster) consecutive(e *outlier.Endpoint) func(outlier.Kind) {
	return func(kind outlier.Kind) {
		c.env.Loop.Post(func() {
			before := e.Ejected()
			if c.outlier.Consecutive(e, kind, time.Now()) && !before {
				c.env.State.Logger.Info("outlier detection", "cluster", printable.Text(c.name, printable.Short), "ejected", 1, "unejected", 0)
				c.conn.eject()
			}
		})
	}
}

// schedule sets the timer for the next outlier detection (A50).
func (c *leafCluster) schedule() {
	next, ok := c.outlier.Next()
	if !ok {
		c.interval.Stop()
		return
	}
	c.interval.Set(c.env.Loop, time.Until(next), func() {
		ejected, unejected := c.outlier.EndInterval(time.Now())
		if len(ejected)+len(unejected) > 0 {
			c.env.State.Logger.Info("outlier detection", "cluster", printable.Text(c.name, printable.Short), "ejected", len(ejected), "unejected", len(unejected))
			c.conn.eject()
		}
		c.schedule()
	})
}
