package clusterimpl

import (
	"errors"
	"log/slog"
	"reflect"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/internal/dataplane/xdsconfig"
	"github.com/xdsforge/xdsforge/internal/printable"
	"github.com/xdsforge/xdsforge/plugins/endpoint"
)

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
func (l *loadReport) open(loads xdsconfig.Loads, logger *slog.Logger) {
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

// close stops counting, except for calls in flight.
func (l *loadReport) close() {
	if l.cluster != nil {
		l.keep(nil)
		l.cluster.Release()
	}
}
