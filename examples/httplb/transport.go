package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	orcav3 "github.com/cncf/xds/go/xds/data/orca/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/tree"
	"github.com/xdsforge/xdsforge/plugins/listener"
)

// A Transport sends HTTP requests to the endpoints of an xDS target and counts their load.
// It implements [http.RoundTripper] and is safe for concurrent use.
type Transport struct {
	base   http.RoundTripper
	client *xdsforge.Client
	name   string // of the listener
	stop   context.CancelFunc
	done   chan struct{} // closed when the watch of the target has ended

	// Requests are picked under the read lock. Therefore no request is counted in a table
	// that was released.
	mu      sync.RWMutex
	table   *table
	changed chan struct{} // closed and replaced with the table
}

// NewTransport watches a target such as "xds:///shop". It sends requests with base. It
// matches their hosts and paths against the target's routes.
func NewTransport(c *xdsforge.Client, config *bootstrap.Config, target string, base http.RoundTripper) (*Transport, error) {
	name, err := config.ClientListenerName(target)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	t := &Transport{
		base: base, client: c, name: name.String(), stop: stop,
		done: make(chan struct{}), changed: make(chan struct{}),
	}
	go t.follow(ctx)
	return t, nil
}

func (t *Transport) follow(ctx context.Context) {
	defer close(t.done)
	for ev := range tree.Watch(ctx, t.client, listener.Type(), t.name) {
		if ev.Err != nil {
			t.use(&table{err: ev.Err})
			continue
		}
		t.use(newTable(ev.Update, t.client))
	}
	t.use(&table{err: errors.New("the transport is closed")})
}

func (t *Transport) use(next *table) {
	t.mu.Lock()
	last := t.table
	t.table = next
	close(t.changed)
	t.changed = make(chan struct{})
	t.mu.Unlock()
	last.release()
}

// Wait waits until requests use a snapshot that ready accepts.
func (t *Transport) Wait(ctx context.Context, ready func(*tree.Snapshot) bool) error {
	for {
		t.mu.RLock()
		last, changed := t.table, t.changed
		t.mu.RUnlock()
		if last != nil && ready(last.snapshot) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Close ends the watch. Later requests fail.
func (t *Transport) Close() {
	t.stop()
	<-t.done
}

// RoundTrip implements [http.RoundTripper]. Requests wait until the target is known.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	address, counted, err := t.pick(r)
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // required of every RoundTripper
		}
		return nil, fmt.Errorf("httplb: %w", err)
	}
	sent := r.Clone(r.Context())
	sent.URL.Host = address
	if sent.Host == "" {
		sent.Host = r.URL.Host
	}
	resp, err := t.base.RoundTrip(sent)
	if err != nil {
		counted.CallFinished(err, nil)
		return nil, err
	}
	resp.Body = &body{ReadCloser: resp.Body, finish: sync.OnceFunc(func() { counted.CallFinished(failure(resp), metrics(resp)) })}
	return resp, nil
}

func (t *Transport) pick(r *http.Request) (address string, counted *load.Locality, err error) {
	if err := t.Wait(r.Context(), func(*tree.Snapshot) bool { return true }); err != nil {
		return "", nil, err
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.table.pick(r)
}

// failure returns an error if the response counts as a failure of the endpoint.
func failure(resp *http.Response) error {
	if resp.StatusCode < http.StatusInternalServerError {
		return nil
	}
	return errors.New(resp.Status)
}

// metrics returns the endpoint's metrics from ORCA's header.
func metrics(resp *http.Response) *load.Metrics {
	text, ok := strings.CutPrefix(resp.Header.Get("Endpoint-Load-Metrics"), "JSON ")
	if !ok {
		return nil
	}
	var m orcav3.OrcaLoadReport
	if protojson.Unmarshal([]byte(text), &m) != nil {
		return nil
	}
	return &load.Metrics{
		CPU: m.GetCpuUtilization(), Memory: m.GetMemUtilization(), Application: m.GetApplicationUtilization(),
		Named: m.GetNamedMetrics(),
	}
}

// A body reports when it has been read or closed. The request is in progress until then.
type body struct {
	io.ReadCloser
	finish func()
}

// Read implements [io.Reader].
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.finish()
	}
	return n, err
}

// Close implements [io.Closer].
func (b *body) Close() error {
	b.finish()
	return b.ReadCloser.Close()
}
