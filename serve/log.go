package serve

import (
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// journal logs each event once. A nil journal logs nothing.
type journal struct {
	logger *slog.Logger

	mu     sync.Mutex
	seen   map[string]time.Time // when it was logged, by event
	states map[string]string    // of the sources that are not live, by view and authority
}

// Bounds of the journal.
const (
	maxSeen     = 10_000      // events; more are logged again
	streamPause = time.Minute // between equal lines about the streams of a client
	forEver     = time.Duration(-1)
)

func newJournal(l *slog.Logger) *journal {
	return &journal{logger: l, seen: make(map[string]time.Time), states: make(map[string]string)}
}

// first reports whether an event was not logged within a time.
func (j *journal) first(event string, within time.Duration) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	if at, ok := j.seen[event]; ok && (within == forEver || now.Sub(at) < within) {
		return false
	}
	if len(j.seen) >= maxSeen {
		clear(j.seen)
	}
	j.seen[event] = now
	return true
}

// rejected logs a rejection once for each type, version and reason, however many clients have it.
func (j *journal) rejected(r source.Rejection) {
	if j == nil || !j.first("rejected "+strconv.Quote(r.Type)+strconv.Quote(r.Version)+strconv.Quote(r.Text), forEver) {
		return
	}
	names := make([]string, 0, maxNames)
	for _, n := range r.Names[:min(len(r.Names), maxNames)] {
		names = append(names, printable.Text(n, printable.Short))
	}
	j.logger.Warn("a client rejected resources", "type", text(r.Type), "names", names, "version", text(r.Version), "node", text(r.Node), "error", text(r.Text))
}

// maxNames is the limit of names in a line.
const maxNames = 10

// ended logs that the server refused or ended a stream of a client, at most once a minute for each
// client and reason.
func (j *journal) ended(client, reason string, err error) {
	if j != nil && j.first("ended "+reason+" "+client, streamPause) {
		j.logger.Warn("a stream was refused or ended", "client", text(client), "error", text(err.Error()))
	}
}

// sources logs the sources whose state has changed.
func (j *journal) sources(current func() []sourceStatus) {
	j.mu.Lock() // before the states are read, so that an older state does not follow a newer one
	defer j.mu.Unlock()
	for _, s := range current() {
		key := s.View + "\x00" + s.Authority
		live := s.State == source.Live.String()
		last, failing := j.states[key]
		switch {
		case live && failing:
			delete(j.states, key)
			j.logger.Info("a source of resources is live again", "authority", s.Authority, "view", s.View)
		case !live && s.Known && last != s.State:
			j.states[key] = s.State
			j.logger.Warn("a source of resources is not live", "authority", s.Authority, "view", s.View, "state", s.State)
		}
	}
}

func (j *journal) draining(streams int, spread time.Duration) {
	if j != nil {
		j.logger.Info("the server drains", "streams", streams, "spread", spread)
	}
}

func (j *journal) drained() {
	if j != nil {
		j.logger.Info("the server is drained")
	}
}
