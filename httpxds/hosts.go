package httpxds

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// maxHosts is the limit of the targets of a Hosts. A program that follows URLs of others could otherwise watch any number.
const maxHosts = 1000

// Hosts sends each request to the target of its URL's host. It makes a [Transport] for a target with the first request, and
// keeps it until Close. It is an [http.RoundTripper], and safe for concurrent use.
type Hosts struct {
	opts     []Option
	settings *settings

	mu         sync.Mutex
	closed     bool
	transports map[string]*Transport // by target
}

var _ http.RoundTripper = (*Hosts)(nil)

// ErrTooManyTargets is the error of a request to a new target when a [Hosts] has 1000 others.
var ErrTooManyTargets = errors.New("the limit of 1000 targets is reached")

// NewHosts returns a Hosts with the options of its Transports. The target of the host "checkout" is "xds:///checkout", also if it
// is written in upper case, unless [WithTargets] says otherwise.
func NewHosts(opts ...Option) (*Hosts, error) {
	s, err := newSettings(opts)
	if err != nil {
		return nil, err
	}
	e, err := open(s.env)
	if err != nil {
		return nil, err
	}
	e.Release()
	return &Hosts{opts: opts, settings: s, transports: make(map[string]*Transport)}, nil
}

// WithTargets sets the function that returns the target of a URL, for [NewHosts]. If it returns false, control planes do not
// serve the host, and the request goes to the RoundTripper of [WithFallback].
func WithTargets(f func(*url.URL) (target string, ok bool)) Option {
	return clientOption(func(s *settings) error {
		s.targets = f
		return nil
	})
}

// WithFallback sets the RoundTripper of requests to hosts that control planes do not serve, for [NewHosts]. The default
// returns an error.
func WithFallback(rt http.RoundTripper) Option {
	return clientOption(func(s *settings) error {
		s.fallback = rt
		return nil
	})
}

// RoundTrip implements [http.RoundTripper].
func (h *Hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL == nil {
		closeBody(r)
		return nil, &Error{Reason: Invalid, Err: errNoURL}
	}
	target, ok := "xds:///"+url.PathEscape(strings.ToLower(r.URL.Hostname())), true
	if h.settings.targets != nil {
		target, ok = h.settings.targets(r.URL)
	}
	if !ok {
		if h.settings.fallback != nil {
			return h.settings.fallback.RoundTrip(r)
		}
		closeBody(r)
		return nil, &Error{Reason: NoRoute, Err: fmt.Errorf("host %q has no target", r.URL.Host)}
	}
	out, err := checked(r) // first, so that wrong hosts do not reach the limit of targets
	if err != nil {
		closeBody(r)
		return nil, &Error{Reason: Invalid, Err: err}
	}
	t, err := h.transport(target)
	if err != nil {
		closeBody(r)
		return nil, &Error{Reason: NoRoute, Err: err}
	}
	return t.send(out, r)
}

// transport returns the Transport of a target.
func (h *Hosts) transport(target string) (*Transport, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.transports[target]
	switch {
	case h.closed:
		return nil, errTransportClosed
	case t != nil:
		return t, nil
	case len(h.transports) == maxHosts:
		return nil, ErrTooManyTargets
	}
	t, err := NewTransport(target, h.opts...)
	if err != nil {
		return nil, err
	}
	h.transports[target] = t
	return t, nil
}

// CloseIdleConnections closes the connections without requests, except for one to each endpoint.
func (h *Hosts) CloseIdleConnections() {
	for _, t := range h.all() {
		t.CloseIdleConnections()
	}
}

func (h *Hosts) all() []*Transport {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := make([]*Transport, 0, len(h.transports))
	for _, t := range h.transports {
		all = append(all, t)
	}
	return all
}

// Close closes all Transports. Later requests fail.
func (h *Hosts) Close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	for _, t := range h.all() {
		_ = t.Close() // it returns no error
	}
	return nil
}
