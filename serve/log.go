package serve

import (
	"log/slog"
	"maps"
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
	shares map[string]*share    // of the lines about rejections, by client
	states map[string]string    // of the sources that are not live, by view and authority
}

// Bounds of the journal.
const (
	maxSeen     = 10_000      // events; more are logged again
	maxLines    = 10          // about different rejections of a client in a minute
	streamPause = time.Minute // between equal lines about the streams of a client
	forEver     = time.Duration(-1)
)

func newJournal(l *slog.Logger) *journal {
	return &journal{logger: l, seen: make(map[string]time.Time), shares: make(map[string]*share), states: make(map[string]string)}
}

// logged reports whether an event was logged.
func (j *journal) logged(event string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.seen[event]
	return ok
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

// A share has the lines about rejections of one client in the last minute.
type share struct {
	begin time.Time
	lines int
}

// room reports whether another rejection of a client may be logged. told is false for the first one of a minute that may
// not: a hostile client sends as many texts as it likes.
func (j *journal) room(client string) (ok, told bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := time.Now()
	s := j.shares[client]
	if s == nil {
		if len(j.shares) >= maxSeen {
			maps.DeleteFunc(j.shares, func(_ string, s *share) bool { return now.Sub(s.begin) >= streamPause })
		}
		s = &share{begin: now}
		j.shares[client] = s
	}
	if now.Sub(s.begin) >= streamPause {
		*s = share{begin: now}
	}
	s.lines++
	return s.lines <= maxLines, s.lines > maxLines+1
}

// rejected logs a rejection once for each type, version and reason, however many clients have it. Each client has a share
// of the lines.
func (j *journal) rejected(client string, r source.Rejection) {
	event := "rejected " + strconv.Quote(r.Type) + strconv.Quote(r.Version) + strconv.Quote(r.Text)
	if j == nil || j.logged(event) {
		return
	}
	if ok, told := j.room(client); !ok {
		if !told {
			j.logger.Warn("further rejections of a client are not logged", "client", text(client), "for", streamPause)
		}
		return
	}
	if !j.first(event, forEver) {
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
