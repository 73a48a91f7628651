package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/load"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/xdstp"
)

// serverOf returns the entry of a server.
func serverOf(t *testing.T, uri string) *bootstrap.Server {
	t.Helper()
	s, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: uri, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestLostLoadReports expects a warning when an outage begins or its reason changes, a line for
// debugging at each retry, and a note when the server has closed the stream.
func TestLostLoadReports(t *testing.T) {
	var text bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ses := &loadSession{link: link{client: &Client{logger: logger, ctx: t.Context()}, server: serverOf(t, "s")}, store: load.NewStore(nil)}
	refused, broken := errors.New("refused"), errors.New("broken")
	for i, tt := range []struct {
		lost  lrs.End
		level string
	}{
		{lrs.End{}, "INFO"},
		{lrs.End{Err: refused}, "WARN"},
		{lrs.End{Err: refused}, "DEBUG"},
		{lrs.End{Err: broken}, "WARN"},
		{lrs.End{Err: broken, Unimplemented: true}, "DEBUG"},
	} {
		text.Reset()
		ses.lost(&tt.lost, time.Now())
		if line := text.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, "level="+tt.level+" ") {
			t.Errorf("attempt %d is logged as %q, want one line of level %s", i, line, tt.level)
		}
	}
	if ses.outage.attempts != 4 {
		t.Errorf("%d attempts failed, want 4", ses.outage.attempts)
	}
}

// TestOutage follows an outage from its first attempt to its end.
func TestOutage(t *testing.T) {
	var o outage
	now := time.Unix(1000, 0)
	if o.over(now) != nil {
		t.Error("an outage is over that never began")
	}
	refused := errors.New("refused")
	for i, tt := range []struct {
		err     error
		changed bool
	}{
		{refused, true},
		{refused, false},
		{fmt.Errorf("again: %w", refused), false},
		{errors.New("broken"), true},
		{errors.New("broken"), false},
	} {
		if changed := o.failed(tt.err, now.Add(time.Duration(i)*time.Second)); changed != tt.changed {
			t.Errorf("attempt %d is news: %t, want %t", i, changed, tt.changed)
		}
	}
	if got, want := fmt.Sprint(o.over(now.Add(time.Minute))), "[outage 1m0s attempts 5]"; got != want {
		t.Errorf("the outage ends with %s, want %s", got, want)
	}
	if o != (outage{}) {
		t.Errorf("%+v is left of the outage", o)
	}
}

// stubborn is a transport whose connections fail to close.
type stubborn struct{ made int }

func (s *stubborn) Dial(*bootstrap.Server) (transport.Conn, error) {
	s.made++
	return stubbornConn{fmt.Errorf("connection %d", s.made)}, nil
}

type stubbornConn struct{ err error }

func (stubbornConn) OpenStream(context.Context, string) (transport.Stream, error) {
	return nil, errors.ErrUnsupported
}
func (c stubbornConn) Close() error { return c.err }

// TestPoolReportsConnectionsThatDoNotClose expects Close to return an error of a connection.
func TestPoolReportsConnectionsThatDoNotClose(t *testing.T) {
	p := NewPool(new(stubborn))
	for _, uri := range []string{"a", "b"} {
		if _, _, err := p.acquire(serverOf(t, uri)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err == nil || !strings.HasPrefix(err.Error(), "connection ") {
		t.Errorf("Close = %v, want the error of a connection", err)
	}
}

// TestBoxIsBehind expects the time since the oldest unread event, and none if all are read.
func TestBoxIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newCollectionMailbox(new(Client))
		behind := func(when string, want time.Duration) {
			t.Helper()
			if got := b.behind(time.Now()); got != want {
				t.Errorf("%s: behind for %v, want %v", when, got, want)
			}
		}
		pass := func() { <-time.NewTimer(time.Second).C }
		name := old(t, "n")
		pass()
		behind("empty", 0)
		b.put(name, resource.State{Err: errNoName})
		pass()
		b.put(name, resource.State{Err: errTwice})
		b.trouble(errNoName, true)
		b.sync()
		pass()
		behind("four news", 2*time.Second)
		if s, changed := b.take(); !changed || !s.Synced || !errors.Is(s.Ambient, errNoName) || s.Err != nil || len(s.Members) != 1 {
			t.Errorf("took %+v, %t", s, changed)
		}
		pass()
		behind("taken", 0)
		b.sync() // once more
		behind("synced again", 0)
		b.trouble(errTwice, false)
		pass()
		behind("trouble", time.Second)
		if s, changed := b.take(); !changed || !errors.Is(s.Err, errTwice) || s.Ambient != nil {
			t.Errorf("took %+v, %t; want an error", s, changed)
		}
		b.trouble(nil, true)
		if _, changed := b.take(); changed {
			t.Error("the end of trouble is news")
		}
		if !b.stop() || b.stop() {
			t.Error("only the first stop counts")
		}
		b.sync()
		b.put(name, resource.State{})
		b.trouble(errNoName, true)
		behind("stopped", 0)
	})
}

// TestListThatLosesAMember expects a list to be complete when the only member without a state is
// a member no longer, and to change with its version or its origin only.
func TestListThatLosesAMember(t *testing.T) {
	stopped := 0
	far, near := old(t, "xdstp://a/test.Thing/far"), old(t, "xdstp://a/test.Thing/near")
	o := &listSubscription{collectionMailbox: newCollectionMailbox(new(Client)), typ: &resource.Descriptor{Name: "test.Thing"}}
	o.located = map[xdstp.Name]*locatedMember{far: {list: o, name: far, cancel: func() { stopped++ }}}
	o.unknown = 1
	dc := resource.DecodeContext{Name: old(t, "xdstp://a/test.Things/all"), Server: serverOf(t, "s")}
	version := func(inlined ...xdstp.Name) *list {
		l := &list{Meta: dc.Meta(nil), inlined: make(map[xdstp.Name]resource.Update)}
		for _, n := range inlined {
			l.inlined[n] = updateOf(t, 1, nil)
		}
		return l
	}
	first, second := version(), version(near)
	first.located = map[xdstp.Name]struct{}{far: {}}
	o.list = first
	o.notify(resource.State{Update: second}, resource.State{Update: first})
	s, changed := o.take()
	if !changed || !s.Synced || len(s.Members) != 1 || s.Members[0].Name != near || stopped != 1 || o.unknown != 0 {
		t.Errorf("took %+v, %t, %d members stopped, %d unknown; want the inlined member of a complete list", s, changed, stopped, o.unknown)
	}
	o.list = nil
	o.notify(resource.State{Update: second}, resource.State{Update: second})
	if o.list != nil {
		t.Error("the same version was taken in once more")
	}
	o.notify(resource.State{Update: second, Origin: resource.Origin(1)}, resource.State{Update: second})
	if o.list != second {
		t.Error("the version of another origin was not taken in")
	}
}

// TestTimesOfRejections expects a rejection to be logged at once if the interval is over, and
// otherwise to wait for its end with the others.
func TestTimesOfRejections(t *testing.T) {
	var text bytes.Buffer
	ses := &session{link: link{client: &Client{logger: slog.New(slog.NewTextHandler(&text, nil)), ctx: t.Context()}, server: serverOf(t, "s")}}
	typ := &resource.Descriptor{Name: "test.Thing"}
	now := time.Unix(1000, 0)
	for i, tt := range []struct {
		after time.Duration // of the rejection
		want  string        // in the log; empty: nothing
	}{
		{0, `msg="response rejected"`},
		{nackInterval, `msg="response rejected"`},
		{2*nackInterval - 1, ""},
		{2*nackInterval - 1, ""},
	} {
		text.Reset()
		ses.rejected(&ads.Request{Type: typ, Reject: "bad"}, now.Add(tt.after))
		if got := text.String(); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("rejection %d is logged as %q, want %q", i, got, tt.want)
		}
	}
	text.Reset()
	ses.logNACKs(now.Add(2*nackInterval - 1))
	if text.Len() > 0 {
		t.Errorf("the log has %q before the interval is over", text.String())
	}
	ses.logNACKs(now.Add(2 * nackInterval))
	if got := text.String(); !strings.Contains(got, `msg="more responses rejected"`) || !strings.Contains(got, "responses=2 ") {
		t.Errorf("the log has %q, want 2 more responses", got)
	}
}

// TestPace expects 64 unchanged responses at full speed, and a pause of four times the work after
// each further one, until a response contains a change.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		wait := func(took time.Duration, changed bool, want time.Duration) {
			t.Helper()
			began := time.Now()
			if err := p.wait(t.Context(), took, changed); err != nil {
				t.Fatal(err)
			}
			if got := time.Since(began); got != want {
				t.Errorf("a pause of %v, want %v", got, want)
			}
		}
		for range 2 {
			for range freeResponses {
				wait(time.Minute, false, 0)
			}
			wait(0, false, shortestPause)
			wait(time.Millisecond, false, 4*time.Millisecond)
			wait(time.Minute, false, longestPause)
			wait(time.Minute, true, 0)
		}
	})
}

// TestStopWakesNext expects Next to return when another goroutine stops the observation.
func TestStopWakesNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Client{done: make(chan struct{})}
		c.loop = newLoop(c, ads.Config{})
		c.loop.closed = true // there is no machine for its events
		s := &subscription{to: make(signal, 1), scope: &authorityScope{client: c}}
		done := make(chan error, 1)
		go func() {
			_, err := s.Next(context.Background())
			done <- err
		}()
		synctest.Wait()
		s.Stop()
		synctest.Wait()
		select {
		case err := <-done:
			if !errors.Is(err, resource.ErrClosed) {
				t.Errorf("Next = %v, want ErrClosed", err)
			}
		default:
			t.Error("Next waits after Stop")
			close(c.done)
		}
	})
}

// TestStreamWaitsForABox expects a stream to wait for a box once, until its owner has looked.
func TestStreamWaitsForABox(t *testing.T) {
	b := newCollectionMailbox(new(Client))
	resumed := 0
	w := newDelivery(&Client{budget: time.Hour}, func() { resumed++ })
	b.waitFor(nil)
	b.waitFor(w)
	b.waitFor(w)
	b.put(old(t, "n"), resource.State{Err: errNoName})
	w.handed()
	for i, want := range []int{0, 1, 1} {
		b.take()
		if resumed != want {
			t.Errorf("after %d looks, the stream went on %d times, want %d", i+1, resumed, want)
		}
	}
	b.stop()
	b.waitFor(newDelivery(&Client{}, func() {}))
	if b.delivery != nil {
		t.Error("a stream waits for a box that is stopped")
	}
}

// TestLoadCanBeReportedAgain expects the first answer after an outage to be logged, and no other.
func TestLoadCanBeReportedAgain(t *testing.T) {
	var text bytes.Buffer
	c := &Client{logger: slog.New(slog.NewTextHandler(&text, nil)), ctx: t.Context(), done: make(chan struct{})}
	l := newLoop(c, ads.Config{})
	ses := &loadSession{link: link{client: c, server: serverOf(t, "s")}, store: load.NewStore(nil), machine: lrs.New(lrs.Config{})}
	ses.stream = newLoadStream(ses, l)
	defer ses.stream.cancel()
	s := ses.stream
	now := time.Unix(1000, 0)
	ses.outage.failed(errors.New("refused"), now)
	for i, want := range []int{1, 0} {
		text.Reset()
		l.now = now.Add(time.Minute)
		s.received(lrs.Instructions{Interval: 10 * time.Second})
		<-s.applied
		if got := strings.Count(text.String(), "load can be reported again"); got != want {
			t.Errorf("answer %d: %d lines that load can be reported again, want %d: %s", i, got, want, text.String())
		}
	}
}
