package client

import (
	"errors"
	"fmt"
	"hash/maphash"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"
)

// TestClip expects text up to the limit as it is, and longer text cut between runes.
func TestClip(t *testing.T) {
	most := strings.Repeat("a", maxQuoted)
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{most, most},
		{most + "b", most + "…"},
		{most[1:] + "é", most[1:] + "…"},
	} {
		if got := clip(tt.text); got != tt.want {
			t.Errorf("clip(%d bytes) has %d bytes, want %d", len(tt.text), len(got), len(tt.want))
		}
	}
}

// TestRejections expects the text of a NACK to count the resources that it does not name.
func TestRejections(t *testing.T) {
	typ := &resource.Descriptor{Name: "test.Thing"}
	bad := errors.New("bad")
	r := rejections{total: 9, seed: maphash.MakeSeed()}
	if r.String() != "" {
		t.Errorf("nothing is rejected, but the reason is %q", r.String())
	}
	r.add(typ, 1, "a", bad)
	r.add(typ, 2, "", bad)
	if got, want := r.String(), `2 of 9 resources rejected: Thing "a": bad; Thing number 2: bad`; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
	r.more(3)
	if got, want := r.String(), `5 of 9 resources rejected: Thing "a": bad; Thing number 2: bad; and 3 more`; got != want {
		t.Errorf("the reason is %q, want %q", got, want)
	}
	if len(r.names) != 1 || len(r.bad) != 2 {
		t.Errorf("%d names and %d numbers of rejected resources, want 1 and 2", len(r.names), len(r.bad))
	}
}

// TestManyRejections expects bounds on the text of a NACK, the names for the log and the numbers
// that recognise a response.
func TestManyRejections(t *testing.T) {
	typ := &resource.Descriptor{Name: "test.Thing"}
	r := rejections{total: 1000, seed: maphash.MakeSeed()}
	for i := range 1000 {
		r.add(typ, i+1, fmt.Sprintf("%04d", i), errors.New("bad"))
	}
	if len(r.names) != maxBad+1 || len(r.bad) != maxBad {
		t.Errorf("%d names and %d numbers, want %d and %d", len(r.names), len(r.bad), maxBad+1, maxBad)
	}
	const line = `Thing "0000": bad`
	named := strings.Count(r.b.String(), "Thing ")
	if r.b.Len() > maxReject+2 || r.b.Len() < maxReject-len("; "+line) || named+r.left != 1000 {
		t.Errorf("the reason has %d bytes and names %d of 1000 resources, %d are left", r.b.Len(), named, r.left)
	}
	if want := fmt.Sprintf("; and %d more", 1000-named); !strings.HasSuffix(r.String(), want) {
		t.Errorf("the reason ends with %q, want %q", r.String()[len(r.String())-20:], want)
	}
}

// TestRejectionThatFills expects a second resource to be named if it fits exactly.
func TestRejectionThatFills(t *testing.T) {
	typ := &resource.Descriptor{Name: "test.Thing"}
	const second = `Thing "b": bad`
	for extra := range 2 {
		r := rejections{seed: maphash.MakeSeed()}
		r.b.WriteString(strings.Repeat("x", maxReject-len(second)+extra))
		r.add(typ, 2, "b", errors.New("bad"))
		if r.left != extra {
			t.Errorf("a line of %d bytes too many leaves %d resources without a name", extra, r.left)
		}
	}
}

// TestTooManyResources expects a response with more resources than allowed to be rejected, and
// to count as partial. One with as many is accepted.
func TestTooManyResources(t *testing.T) {
	typ := &resource.Descriptor{Name: "test.Thing"}
	ses := &session{link: link{client: &Client{seed: maphash.MakeSeed()}}}
	var raw []byte
	for range maxResources {
		raw = protowire.AppendBytes(protowire.AppendTag(raw, 2, protowire.BytesType), nil)
	}
	for extra, want := range []string{"", "1 of 1048577 resources rejected: Thing number 1048577: " + errTooMany.Error()} {
		w := new(scratch)
		if err := w.response.Parse(raw, false); err != nil {
			t.Fatal(err)
		}
		d := ses.conclude(w, typ)
		if d.reject != want || d.partial != (extra > 0) {
			t.Errorf("%d resources beyond the limit: rejected with %q, partial %t; want %q", extra, d.reject, d.partial, want)
		}
		raw = protowire.AppendBytes(protowire.AppendTag(raw, 2, protowire.BytesType), nil)
	}
}

// TestListOfRejected expects the names in order, and a hint at those left out.
func TestListOfRejected(t *testing.T) {
	n := new(nackLog)
	if got := n.list(); got != "" {
		t.Errorf("without names the list is %q", got)
	}
	n.name([]string{"b", "a", "b"})
	if got, want := n.list(), `"a", "b"`; got != want {
		t.Errorf("the list is %s, want %s", got, want)
	}
	for i := range maxBad - 2 {
		n.name([]string{fmt.Sprint(i)})
	}
	if n.more || len(n.names) != maxBad {
		t.Errorf("%d names, others: %t; want %d and no others", len(n.names), n.more, maxBad)
	}
	n.name([]string{"a"}) // as before
	if n.more {
		t.Error("a name that the list has counts as another")
	}
	n.name([]string{"c"})
	if got := n.list(); len(n.names) != maxBad || !strings.HasSuffix(got, `, and others`) {
		t.Errorf("%d names: %s", len(n.names), got)
	}
}

// TestLongReason expects a resource to be named although its reason is too long.
func TestLongReason(t *testing.T) {
	r := rejections{seed: maphash.MakeSeed()}
	r.add(&resource.Descriptor{Name: "test.Thing"}, 1, "a", errors.New(strings.Repeat("x", 2*maxReject)))
	if r.left != 0 || !strings.HasPrefix(r.b.String(), `Thing "a": xxx`) {
		t.Errorf("%d resources are left; the reason is %.20q", r.left, r.b.String())
	}
}

// TestNumbersOfResources expects numbers from 1, in the order of the response.
func TestNumbersOfResources(t *testing.T) {
	w := new(scratch)
	w.names.Reset(8)
	w.unread(0, "", errNoName)
	w.result(&asked{number: 1, says: authority.Result{Name: old(t, "n")}})
	w.result(&asked{number: 2, says: authority.Result{Name: old(t, "n")}})
	for i, f := range w.fresh {
		if f.number != i+1 {
			t.Errorf("resource %d has the number %d", i+1, f.number)
		}
	}
	if len(w.fresh) != 3 || len(w.results) != 1 || !errors.Is(w.fresh[2].err, errTwice) {
		t.Errorf("%d resources with %d results, the last of which has the error %v; want 3, 1 and errTwice", len(w.fresh), len(w.results), w.fresh[2].err)
	}
}

// arrivingSince is since when a response arrives.
type arrivingSince time.Time

func (a arrivingSince) Arriving() (time.Time, bool) { return time.Time(a), true }

// TestLimitsOfReading expects a response to count as arriving for less than five minutes, and work
// on one to be noticed from 10 ms on.
func TestLimitsOfReading(t *testing.T) {
	born := time.Unix(1000, 0)
	for after, want := range map[time.Duration]bool{0: true, maxArriving - 1: true, maxArriving: false} {
		r := reading{arriver: arrivingSince(born)}
		if since, ok := r.arriving(born.Add(after)); ok != want || !since.Equal(born) {
			t.Errorf("after %v: arriving since %v, %t; want %t", after, since, ok, want)
		}
	}
	for after, want := range map[time.Duration]bool{0: false, noticeable - 1: false, noticeable: true} {
		s := &stream{session: new(session), loop: &loop{now: born.Add(time.Second + after)}, reading: reading{born: born}}
		s.reading.arrived(born.Add(time.Second))
		s.pause()
		if s.reading.paused.Load() != want {
			t.Errorf("after %v of work: paused %t, want %t", after, !want, want)
		}
	}
}
