package policy

import (
	"math/rand/v2"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/orca"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

// A weighted is the policy weighted_round_robin. It has a roundRobin, and sends calls to the ready
// endpoints by weights, which it computes from the load that the endpoints report (A58).
type weighted struct {
	*roundRobin

	env     *lbtree.Env
	report  lbtree.Report
	config  *weightedConfig
	picker  *weightedPicker // nil: no endpoint is ready
	next    *atomic.Uint64  // counts the picks of all pickers, from a random start
	metrics weightedMetrics
	timer   serial.Timer // of the next schedule
	err     error        // why the configuration is unusable
}

func newWeighted(env *lbtree.Env, report lbtree.Report) *weighted {
	p := &weighted{env: env, report: report, next: new(atomic.Uint64)}
	p.next.Store(rand.Uint64())
	p.roundRobin = newRoundRobin(env, p.reported)
	p.changed, p.removed = p.observe, func(e *rrEndpoint) { e.load.disconnect() }
	return p
}

// Update replaces the configuration and the endpoints. Endpoints keep their weights.
func (p *weighted) Update(t lbtree.Target) {
	var config *weightedConfig
	if config, p.err = parseWeighted(t.Policy.Config); p.err != nil {
		p.timer.Stop()
		p.report(lbtree.Failure(p.err))
		return
	}
	p.config, p.metrics = config, metricsOf(p.env, t.Localities)
	p.roundRobin.Update(t)
	for _, e := range p.endpoints {
		e.load.configure(p.config)
	}
}

// observe handles a new state of an endpoint. The weight belongs to one connection.
func (p *weighted) observe(e *rrEndpoint) {
	if e.load == nil {
		e.load = newEndpointLoad(p.config)
	}
	switch e.state.ConnectivityState {
	case connectivity.Ready:
		if r, err := e.state.Picker.Pick(balancer.PickInfo{}); err == nil {
			e.load.connect(r.SubConn)
		}
	case connectivity.Idle:
		e.load.disconnect()
	default: // the endpoint may be ejected, or its health may be bad, and the connection stays
	}
}

// reported replaces the picker of a state with ready endpoints.
func (p *weighted) reported(s balancer.State) {
	if p.err != nil {
		return
	}
	if s.ConnectivityState != connectivity.Ready {
		p.timer.Stop()
		p.picker = nil
		p.report(s)
		return
	}
	p.picker = &weightedPicker{next: p.next, oob: p.config.OOB, endpoints: make([]weightedEndpoint, 0, len(p.ready.endpoints))}
	for _, e := range p.ready.endpoints {
		p.picker.endpoints = append(p.picker.endpoints, weightedEndpoint{e.state.Picker, e.load})
	}
	p.schedule()
	p.report(balancer.State{ConnectivityState: connectivity.Ready, Picker: p.picker})
}

// schedule gives the picker the newest weights, and sets the timer for the next ones.
func (p *weighted) schedule() {
	weights, scales := make([]float64, 0, len(p.picker.endpoints)), make([]float64, 0, len(p.picker.endpoints))
	now := time.Now()
	for _, e := range p.picker.endpoints {
		w, usable := e.load.current(now, p.config)
		weights = append(weights, w)
		scales = append(scales, p.config.Slow.Scale(now.Sub(e.load.started)))
		p.metrics.weight(w, usable)
	}
	s, equal := newSchedule(weights, scales)
	p.picker.schedule.Store(s)
	if equal {
		p.metrics.fallback()
	}
	if len(weights) > 1 {
		p.timer.Set(p.env.Loop, time.Duration(p.config.Update), p.schedule)
	}
}

// Close closes all endpoints.
func (p *weighted) Close() {
	p.timer.Stop()
	p.roundRobin.Close()
}

// A weightedPicker picks among ready endpoints by weights.
type weightedPicker struct {
	endpoints []weightedEndpoint
	schedule  atomic.Pointer[schedule]
	next      *atomic.Uint64
	oob       bool // endpoints report load apart from calls
}

type weightedEndpoint struct {
	picker balancer.Picker
	load   *endpointLoad
}

// Pick implements [balancer.Picker]. The load report of the call's trailers updates the weight.
func (p *weightedPicker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	e := &p.endpoints[p.schedule.Load().pick(p.next)]
	r, err := e.picker.Pick(info)
	if err != nil || p.oob {
		return r, err
	}
	if done := r.Done; done != nil {
		r.Done = func(d balancer.DoneInfo) {
			e.load.done(d)
			done(d)
		}
		return r, nil
	}
	r.Done = e.load.done
	return r, nil
}

// listen receives the load that an endpoint reports apart from calls.
func listen(sc balancer.SubConn, l *endpointLoad, interval time.Duration) (stop func()) {
	return orca.RegisterOOBListener(sc, l, orca.OOBListenerOptions{ReportInterval: interval})
}
