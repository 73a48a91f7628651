package adsserver

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Bounds of the wait of a stream whose client has seen later resources at another server.
const (
	lagLimit = 2 * time.Second       // the stream answers then in any case
	lagPause = 20 * time.Millisecond // between two looks at the sources
)

// A behind is the wait of a stream until the sources have the revisions that the client has seen at another
// server. Without it, a client that moves to a server that lags would go back to older resources for a
// moment. The zero value does not wait.
type behind struct {
	marks []mark
	until time.Time // zero: the stream has not waited
}

// A mark is a revision that a source has not reached yet.
type mark struct {
	feed     *feed
	epoch    string // "" if the client does not know it
	revision uint64
}

// lagOf notes the version of the state of the world that the client has.
func (st *Stream) lagOf(version []byte) {
	text := string(version)
	i := strings.LastIndexByte(text, '-')
	if i <= 0 || len(st.core.feeds) != 1 {
		return
	}
	if revision, err := strconv.ParseUint(text[i+1:], 36, 63); err == nil {
		st.behind.add(st.core.feed, text[:i], revision)
	}
}

func (b *behind) add(f *feed, epoch string, revision uint64) {
	if f == nil || f.reached(epoch, revision) {
		return
	}
	if i := slices.IndexFunc(b.marks, func(m mark) bool { return m.feed == f && m.epoch == epoch }); i >= 0 {
		b.marks[i].revision = max(b.marks[i].revision, revision)
	} else {
		b.marks = append(b.marks, mark{f, epoch, revision})
	}
	if b.until.IsZero() {
		b.until = time.Now().Add(lagLimit)
	}
}

// waits reports whether the stream must not answer yet.
func (b *behind) waits() bool {
	if len(b.marks) == 0 {
		return false
	}
	if !time.Now().Before(b.until) {
		b.marks = nil // the sources may never have this revision
		return false
	}
	b.marks = slices.DeleteFunc(b.marks, func(m mark) bool { return m.feed.reached(m.epoch, m.revision) })
	return len(b.marks) > 0
}

// next returns a channel that receives when the stream looks again. A source does not report a revision that
// changes no subscribed resource.
func (b *behind) next() <-chan time.Time {
	return time.NewTimer(min(lagPause, time.Until(b.until))).C
}

// progress is implemented by sessions that know the revision of their source. Reached reports whether the
// reader has everything up to a revision, if it has applied this number of changes. It is true for another
// epoch, because its revisions do not compare.
type progress interface {
	Reached(epoch string, revision, applied uint64) bool
}

// reached reports whether the streams see a revision of the source. An empty epoch is the current one.
func (f *feed) reached(epoch string, revision uint64) bool {
	if epoch != "" && f.epoch != "" && epoch != f.epoch || f.epoch == epoch && f.revision >= revision {
		return true
	}
	if p, ok := f.session.(progress); ok {
		return p.Reached(epoch, revision, f.applied)
	}
	return epoch == "" && f.revision >= revision
}
