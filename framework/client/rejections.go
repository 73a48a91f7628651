package client

import (
	"fmt"
	"hash/maphash"
	"strings"

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
