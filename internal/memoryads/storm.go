package memoryads

import (
	"hash/fnv"
	"time"

	"google.golang.org/protobuf/proto"
)

// The limits of a storm. A client that exceeds one is not answered any more, so that
// the storm ends.
const (
	stormWindow   = 10 * time.Second
	maxRejections = 12   // of one content in a window, beside those that come with a change of subscriptions
	maxAtOnce     = 2000 // requests of a stream without any time passing
)

// rejections counts how often a client rejects the same content of a type.
type rejections struct {
	contents map[string]uint64 // by nonce
	last     uint64            // content that was rejected last
	since    time.Time         // start of the window
	count    int
	allowed  int // beyond maxRejections
}

// sent notes the content of a response.
func (r *rejections) sent(nonce string, content proto.Message) {
	d := fnv.New64a()
	if raw, err := (proto.MarshalOptions{Deterministic: true}).Marshal(content); err == nil {
		_, _ = d.Write(raw)
	}
	if r.contents == nil {
		r.contents = make(map[string]uint64)
	}
	r.contents[nonce] = d.Sum64()
}

// changed notes that the client changed its subscriptions, which may bring the same
// content again.
func (r *rejections) changed() { r.allowed++ }

// rejected notes a NACK, and reports whether it is one too many.
func (r *rejections) rejected(nonce string, now time.Time) bool {
	content := r.contents[nonce]
	if content != r.last || now.Sub(r.since) >= stormWindow {
		*r = rejections{contents: r.contents, last: content, since: now}
	}
	r.count++
	return r.count > maxRejections+r.allowed
}

// busy counts the requests that a stream reads without any time passing, and reports
// whether there are too many.
func (st *stream) busy(now time.Time) bool {
	if !now.Equal(st.readAt) {
		st.readAt, st.atOnce = now, 0
	}
	st.atOnce++
	return st.atOnce > maxAtOnce
}

// mute ends the answers to a client that causes a storm.
func (st *stream) mute(format string, args ...any) {
	if !st.muted {
		st.violation(format, args...)
	}
	st.muted = true
}
