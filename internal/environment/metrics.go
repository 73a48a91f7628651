package environment

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/xdsforge/xdsforge/internal/telemetry"
)

// metrics exports the counts of an Env's clients while the Env is in use.
//
// A scrape holds a lock of the meter provider while it calls collect, and registering takes that lock.
// So process.mu and collecting are never held while metrics are registered or unregistered.
type metrics struct {
	registering sync.Mutex
	stop        func() error // nil: not registered

	// collecting guards retired, and keeps clients from closing during a scrape. It is taken before
	// process.mu.
	collecting sync.Mutex
	retired    telemetry.Values // the counters of closed clients: counters never shrink
}

// Meter returns the meter for HTTP filters. Without metrics, it records nothing.
func (e *Env) Meter() metric.Meter { return e.settings.Calls.Meter() }

// Calls returns the metrics of the channels of a target, or nil.
func (e *Env) Calls(target string) *telemetry.Target { return e.settings.Calls.Of(target) }

// export registers the metrics if the Env is in use, and unregisters them if not. Concurrent calls
// end in the state that the last one found.
func (e *Env) export() error {
	reader := e.settings.Metrics
	if reader == nil {
		return nil
	}
	m := &e.metrics
	m.registering.Lock()
	defer m.registering.Unlock()
	process.mu.Lock()
	used := e.refs > 0
	process.mu.Unlock()
	switch {
	case used && m.stop == nil:
		stop, err := reader.Register(e.collect)
		if err != nil {
			return err
		}
		m.stop = stop
	case !used && m.stop != nil:
		stop := m.stop
		m.stop = nil
		return stop()
	}
	return nil
}

// collect is the callback of a scrape.
func (e *Env) collect(ctx context.Context, o metric.Observer) error {
	m := &e.metrics
	m.collecting.Lock()
	defer m.collecting.Unlock()
	values := m.retired.Clone()
	var errs []error
	for _, s := range e.Scopes() {
		summary, err := s.Summary(ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		values.Add(&summary)
		for server, clusters := range s.Loads() {
			values.AddLoad(s.name, server, clusters)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err // a counter without a client would shrink
	}
	process.mu.Lock()
	store := e.store
	process.mu.Unlock()
	if store != nil {
		s := store.Status()
		values.AddStore(&s, time.Now())
	}
	e.settings.Metrics.Observe(o, &values)
	return nil
}

// finalCounts is the time to wait for the counters of a client that closes. Its loop answers at once.
const finalCounts = time.Second

// remove removes a closing client from the list. It keeps the counters of the client for later scrapes.
func (s *Scope) remove() {
	e := s.env
	if e.settings.Metrics != nil {
		e.metrics.collecting.Lock()
		defer e.metrics.collecting.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), finalCounts)
		defer cancel()
		if summary, err := s.Summary(ctx); err == nil {
			e.metrics.retired.AddCounters(&summary)
		}
	}
	process.mu.Lock()
	defer process.mu.Unlock()
	e.scopes = slices.DeleteFunc(e.scopes, func(o *Scope) bool { return o == s })
}
