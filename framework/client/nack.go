package client

import (
	"fmt"
	"hash/maphash"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/envelope"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// The limits of text from control planes in errors, in bytes: of quoted text, and of the
// message of a rejection. Rejected resources that do not fit into it are only counted.
const (
	maxQuoted = printable.Quoted
	maxReject = printable.Whole
)

// clip cuts s to the length that an error may quote.
func clip(s string) string {
	if len(s) <= maxQuoted {
		return s
	}
	return strings.ToValidUTF8(s[:maxQuoted], "") + "…"
}

// rejections collects the reason of a NACK.
type rejections struct {
	b     strings.Builder
	count int
	total int // resources in the response
	left  int // rejected resources that the message does not name

	seed maphash.Seed
	bad  []uint64 // a number for each rejected resource and reason
	// names are those of the first rejected resources, clipped.
	names []string
}

// maxBad is the limit of rejected resources by which a response is recognised, and of names in a
// log line.
const maxBad = 64

func (r *rejections) add(t *resource.Descriptor, number int, name string, err error) {
	r.count++
	if name != "" && len(r.names) <= maxBad { // one more shows the log that there are others
		r.names = append(r.names, strings.Clone(clip(name)))
	}
	if len(r.bad) < maxBad {
		r.bad = append(r.bad, maphash.Comparable(r.seed, [2]string{name, err.Error()}))
	}
	who := fmt.Sprintf("%s %q", t.ShortName(), clip(name))
	if name == "" {
		who = fmt.Sprintf("%s number %d", t.ShortName(), number)
	}
	line := printable.Text(fmt.Sprintf("%s: %v", who, err), maxReject)
	if r.b.Len()+len(line) > maxReject && r.b.Len() > 0 {
		r.left++
		return
	}
	if r.b.Len() > 0 {
		r.b.WriteString("; ")
	}
	r.b.WriteString(line)
}

// digest returns a number that is equal for responses with equal resources, regardless of
// order, version and nonce.
func digest(seed maphash.Seed, resp *envelope.Response) (sum uint64) {
	for i := range resp.Len() {
		res := resp.At(i)
		sum += maphash.String(seed, res.Name) ^ maphash.Bytes(seed, res.Body)
	}
	return sum
}

// more counts resources that the message does not name.
func (r *rejections) more(n int) {
	r.count += n
	r.left += n
}

// String returns "" if nothing was rejected.
func (r *rejections) String() string {
	if r.count == 0 {
		return ""
	}
	s := fmt.Sprintf("%d of %d resources rejected: %s", r.count, r.total, r.b.String())
	if r.left > 0 {
		s += fmt.Sprintf("; and %d more", r.left)
	}
	return s
}

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
func (ses *session) nacks(t *resource.Descriptor) *nackLog {
	for _, n := range ses.nackLogs {
		if n.typ == t {
			return n
		}
	}
	n := &nackLog{typ: t}
	ses.nackLogs = append(ses.nackLogs, n)
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
func (ses *session) rejected(e *ads.Request, now time.Time) {
	n := ses.nacks(e.Type)
	n.count++
	switch {
	case e.Quiet: // the log already contains its reason
	case n.last.IsZero() || now.Sub(n.last) >= nackInterval:
		ses.log(slog.LevelWarn, "response rejected", "type", e.Type.Name,
			"nonce", printable.Text(e.Nonce, printable.Short), "reason", e.Reject, "repeats", e.Repeats)
		n.reset(now)
	default:
		n.nonce, n.reason, n.repeats = e.Nonce, e.Reject, e.Repeats
		n.due = n.last.Add(nackInterval)
	}
}

// logNACKs logs the gathered rejections that are due.
func (ses *session) logNACKs(now time.Time) {
	for _, n := range ses.nackLogs {
		if n.due.IsZero() || now.Before(n.due) {
			continue
		}
		ses.log(slog.LevelWarn, "more responses rejected", "type", n.typ.Name, "responses", n.count, "resources", n.list(),
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
