package client

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// nackInterval is the time between two log lines about rejected responses of a type. So there are
// at most two lines in 10 s.
const nackInterval = 6 * time.Second

// A nackLog is the log of the rejected responses of one type from one server. It logs a rejection
// at once, and gathers those that follow within nackInterval in one line. Snapshots and events have
// the reason for each resource. Only the loop uses a nackLog.
type nackLog struct {
	typ   *resource.Descriptor
	last  time.Time // when the last line was written; zero: there was none
	due   time.Time // when the gathered rejections are logged; zero: there are none to log
	count int       // responses rejected since the last line

	nonce, reason string // of the last of them
	repeats       int

	names []string // of resources rejected since the last line; at most maxBad
	more  bool     // and others
}

// nacks returns the log of a type.
func (ch *channel) nacks(t *resource.Descriptor) *nackLog {
	for _, n := range ch.nackLogs {
		if n.typ == t {
			return n
		}
	}
	n := &nackLog{typ: t}
	ch.nackLogs = append(ch.nackLogs, n)
	return n
}

// name adds the resources of a rejected response.
func (n *nackLog) name(names []string) {
	for _, name := range names {
		switch {
		case slices.Contains(n.names, name):
		case len(n.names) == maxBad:
			n.more = true
			return
		default:
			n.names = append(n.names, name)
		}
	}
}

// rejected logs a NACK, now or later.
func (ch *channel) rejected(e *ads.Request, now time.Time) {
	n := ch.nacks(e.Type)
	n.count++
	switch {
	case e.Quiet: // the log already contains its reason
	case n.last.IsZero() || now.Sub(n.last) >= nackInterval:
		ch.log(slog.LevelWarn, "response rejected", "type", e.Type.Name,
			"nonce", printable.Text(e.Nonce, printable.Short), "reason", e.Reject, "repeats", e.Repeats)
		n.reset(now)
	default:
		n.nonce, n.reason, n.repeats = e.Nonce, e.Reject, e.Repeats
		n.due = n.last.Add(nackInterval)
	}
}

// logNACKs logs the gathered rejections that are due.
func (ch *channel) logNACKs(now time.Time) {
	for _, n := range ch.nackLogs {
		if n.due.IsZero() || now.Before(n.due) {
			continue
		}
		ch.log(slog.LevelWarn, "more responses rejected", "type", n.typ.Name, "responses", n.count, "resources", n.list(),
			"nonce", printable.Text(n.nonce, printable.Short), "reason", n.reason, "repeats", n.repeats)
		n.reset(now)
	}
}

// list returns the names of the rejected resources as one text.
func (n *nackLog) list() string {
	slices.Sort(n.names)
	var b strings.Builder
	for i, name := range n.names {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%q", name)
	}
	if n.more {
		b.WriteString(", and others")
	}
	return b.String()
}

func (n *nackLog) reset(now time.Time) { *n = nackLog{typ: n.typ, last: now} }
