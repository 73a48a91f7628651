package client

import (
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// What errors may hold of what a control plane sent, in bytes: text that is
// quoted, and the message of a rejection. What does not fit into that is counted.
const (
	maxQuoted = 1 << 10
	maxReject = 8 << 10
)

// clip cuts s to a length.
func clip(s string, length int) string {
	if len(s) <= length {
		return s
	}
	return strings.ToValidUTF8(s[:length], "") + "…"
}

// rejections is what a NACK tells the control plane.
type rejections struct {
	b     strings.Builder
	count int
	total int // resources in the response
	left  int // rejected resources that the message does not name
}

func (r *rejections) add(t *resource.Type, number int, name string, err error) {
	r.count++
	who := fmt.Sprintf("%s %q", t.ShortName(), clip(name, maxQuoted))
	if name == "" {
		who = fmt.Sprintf("%s number %d", t.ShortName(), number)
	}
	line := clip(fmt.Sprintf("%s: %v", who, err), maxReject)
	if r.b.Len()+len(line) > maxReject && r.b.Len() > 0 {
		r.left++
		return
	}
	if r.b.Len() > 0 {
		r.b.WriteString("; ")
	}
	r.b.WriteString(strings.ToValidUTF8(line, "\uFFFD"))
}

// digest returns a number that is equal for responses of equal resources, whatever their
// version and nonce.
func (c *Client) digest(resp *transport.Response) uint64 {
	var h maphash.Hash
	h.SetSeed(c.seed)
	for i := range resp.Len() {
		res := resp.At(i)
		maphash.WriteComparable(&h, res.Name)
		maphash.WriteComparable(&h, len(res.Body))
		_, _ = h.Write(res.Body) // never fails
	}
	return h.Sum64()
}

// String is empty when nothing was rejected.
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
