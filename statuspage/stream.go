package statuspage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/statuspage/internal/inspect"
)

// The times of a stream.
const (
	streamTime = 5 * time.Minute // then the browser opens another one
	streamTick = 2 * time.Second // looks for new clients, and for changes that are no events
	writeTime  = 10 * time.Second
	heartbeat  = 7 // ticks
)

// stream sends the events of all clients as server-sent events: "event: xds" with the JSON of an
// inspect.Event, and "event: state" if channels or servers changed.
func (s *site) stream(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		w.Header().Set("Retry-After", "10")
		s.fail(w, r, &failure{http.StatusServiceUnavailable, fmt.Sprintf("%d streams are open; the limit is reached", maxStreams)})
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), streamTime)
	f := &follower{site: s, events: make(chan inspect.Event), known: make(map[string]bool)}
	defer f.wait.Wait()
	defer cancel()
	out := &streamWriter{w: w, rc: http.NewResponseController(w)}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	f.follow(ctx)
	before := s.digest(ctx)
	if out.write(": the status of xDS clients\nretry: 2000\n\n") != nil {
		return
	}
	ticker := time.NewTicker(streamTick)
	defer ticker.Stop()
	for quiet := 0; ; {
		var err error
		select {
		case <-ctx.Done():
			return
		case e := <-f.events:
			err = out.event("xds", e)
			quiet = 0
		case <-ticker.C:
			quiet++
			opened := f.follow(ctx)
			if now := s.digest(ctx); now != before || opened {
				before, quiet = now, 0
				err = out.event("state", struct{}{})
			} else if quiet%heartbeat == 0 {
				err = out.write(":\n\n")
			}
		}
		if err != nil {
			return
		}
	}
}

// A follower follows the events of all clients.
type follower struct {
	site   *site
	events chan inspect.Event
	known  map[string]bool
	wait   sync.WaitGroup
}

// follow follows clients that are new, and reports whether there are any.
func (f *follower) follow(ctx context.Context) (opened bool) {
	open := make(map[string]bool)
	for _, c := range f.site.source.Clients() {
		open[c.ID] = true
		if f.known[c.ID] {
			continue
		}
		opened = true
		f.wait.Go(func() {
			c.Follow(ctx, func(e status.Event) {
				select {
				case f.events <- inspect.Event{Client: c.ID, Event: e}:
				case <-ctx.Done():
				}
			})
		})
	}
	f.known = open
	return opened
}

// digests keep a digest for all streams, because one needs the state of everything.
type digests struct {
	mu   sync.Mutex
	at   time.Time
	last string
}

// digest returns a text that changes with the states of channels, endpoints and ports. It is at most half
// a tick old.
func (s *site) digest(ctx context.Context) string {
	d := &s.digests
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.at) < streamTick/2 {
		return d.last
	}
	targets, err := s.source.Targets(ctx)
	if err != nil {
		return d.last
	}
	health, err := s.source.Health(ctx)
	if err != nil {
		return d.last
	}
	var b strings.Builder
	for _, t := range targets {
		b.WriteString(t.String())
	}
	fmt.Fprint(&b, health)
	for _, server := range s.source.Servers() {
		for _, p := range server.Ports {
			b.WriteString(p.String())
		}
	}
	d.at, d.last = time.Now(), b.String()
	return d.last
}

// A streamWriter writes server-sent events.
type streamWriter struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// event writes an event with JSON as its data. JSON has no line breaks here.
func (o *streamWriter) event(name string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	return o.write("event: " + name + "\ndata: " + string(b) + "\n\n")
}

// write writes text at once. A browser that does not read in time loses the stream.
func (o *streamWriter) write(text string) error {
	_ = o.rc.SetWriteDeadline(time.Now().Add(writeTime)) // not every server has deadlines
	if _, err := o.w.Write([]byte(text)); err != nil {
		return err
	}
	return o.rc.Flush()
}
