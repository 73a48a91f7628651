package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/memoryads"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// subscribe subscribes to a thing.
func subscribe(t *testing.T, c resource.Client, name string, changed func(*update), hold func(done func())) (cancel func()) {
	t.Helper()
	cancel, err := things.Handle().SubscribeAsync(c, name, func(ev resource.Event[resource.Update], done func()) {
		hold(done)
		if ev.Changed && ev.Err == nil {
			changed(ev.Update.(*update))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return cancel
}

func immediately(release func()) { release() }

// responses is how many responses the client has read.
func responses(c *client.Client) uint64 {
	s, err := c.Snapshot(context.Background())
	if err != nil {
		return 0
	}
	return s.Servers[0].Responses
}

// The control plane is read as fast as watchers work, but for a budget; a watcher
// past it is not waited for again until it is back.
func TestReadingWaitsForWatchers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newThings(t)
		s.Set(things.URL(), thing("a", "1"))
		back := make(chan struct{})
		subscribe(t, c, "a", func(*update) { <-back }, immediately)
		synctest.Wait()
		read := func(want uint64) {
			t.Helper()
			synctest.Wait()
			if n := responses(c); n != want {
				t.Errorf("%d responses read, want %d", n, want)
			}
		}
		read(1)
		s.Set(things.URL(), thing("a", "2"))
		read(1)
		pass(client.DefaultWatcherBudget)
		read(2)
		s.Set(things.URL(), thing("a", "3"))
		s.Set(things.URL(), thing("a", "4"))
		read(4) // nobody waits for it any longer
		pass(time.Second)
		if p, err := c.Snapshot(t.Context()); err != nil || p.SlowWatchers != 1 || p.Resources[0].Watchers[0].Behind != time.Second {
			t.Errorf("slow watchers = %+v, %v", p, err)
		}
		back <- struct{}{} // it takes the newest
		back <- struct{}{}
		synctest.Wait()
		s.Set(things.URL(), thing("a", "5"))
		read(5)
		s.Set(things.URL(), thing("a", "6"))
		read(5) // it is waited for again
		back <- struct{}{}
		read(6)
		close(back)
	})
}

func TestReleaseFreesTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newThings(t)
		s.Set(things.URL(), thing("a", "1"))
		releases := make(chan func(), 2)
		cancel := subscribe(t, c, "a", func(*update) {}, func(release func()) { releases <- release })
		synctest.Wait()
		s.Set(things.URL(), thing("a", "2"))
		synctest.Wait()
		if n := responses(c); n != 1 {
			t.Errorf("%d responses read although the first one is held", n)
		}
		release := <-releases
		release()
		release()
		synctest.Wait()
		if n := responses(c); n != 2 {
			t.Errorf("%d responses read after the first one was released, want 2", n)
		}
		s.Set(things.URL(), thing("a", "3"))
		synctest.Wait()
		if n := responses(c); n != 2 {
			t.Errorf("%d responses read although the second one is held", n)
		}
		cancel() // the reader does not wait for a cancelled watch
		synctest.Wait()
		if n := responses(c); n != 3 {
			t.Errorf("%d responses read after the watch was cancelled, want 3", n)
		}
		(<-releases)()
	})
}

// A watcher that does not take its next state is still busy with the previous one. Without a
// budget, the reader waits for no watcher, and no watcher counts as slow.
func TestReadingDoesNotWaitWithoutABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newThingsWith(t, nil, withoutWatcherBudget())
		back := make(chan struct{})
		defer close(back)
		s.Set(things.URL(), thing("a", "1"))
		subscribe(t, c, "a", func(*update) { <-back }, immediately)
		synctest.Wait()
		s.Set(things.URL(), thing("a", "2"))
		synctest.Wait()
		if p, err := c.Snapshot(t.Context()); err != nil || p.Servers[0].Responses != 2 || p.SlowWatchers != 0 {
			t.Errorf("%d responses read, %d slow watchers, %v; want both, and none", p.Servers[0].Responses, p.SlowWatchers, err)
		}
	})
}

func TestReadingWaitsForIterations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newThings(t)
		s.Set(things.URL(), thing("a", "1"))
		for ev := range things.Handle().Watch(t.Context(), c, "a") {
			if ev.Err != nil || ev.Ambient != nil {
				t.Fatal(ev)
			}
			u := ev.Update.(*update)
			if u.tag == "3" {
				break
			}
			s.Set(things.URL(), thing("a", string(u.tag[0]+1)))
			synctest.Wait()
			if n := responses(c); n != uint64(u.tag[0]-'0') {
				t.Errorf("%d responses read at %s", n, u.tag)
			}
		}
	})
}

// A control plane that responds to each ACK at once gets no more than a share of a processor. The
// client reads new content nevertheless.
func TestEndlessResponsesWithoutNews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		c := newMemoryClient(t, m, clusters)
		f := follow(t.Context(), t, c, clusters, "a")
		s := <-m.streams
		s.next(t)
		answer := func(tag string) *discoveryv3.DiscoveryResponse {
			return &discoveryv3.DiscoveryResponse{VersionInfo: "1", Nonce: "n", TypeUrl: clusters.URL(), Resources: []*anypb.Any{anyOf(t, cluster("a", tag))}}
		}
		sent := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for until := time.Now().Add(10 * time.Second); time.Now().Before(until); sent++ {
				s.respond(t, answer("1"))
				s.next(t)
			}
		}()
		f.value("1")
		<-done
		if sent < 100 || sent > 10_100 {
			t.Errorf("%d responses in ten seconds, want at most one in a millisecond", sent)
		}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			s.respond(t, answer("2"))
			s.next(t)
		}()
		f.value("2")
		<-answered
		// New content ends the slowdown.
		pass(longestPause)
		began := time.Now()
		for range 50 {
			s.respond(t, answer("2"))
			s.next(t)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("50 responses after something new took %v", took)
		}
	})
}

// longestPause is more than any pause between responses.
const longestPause = time.Second

func TestAutoFindsTheProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, spoil := range []func(s *memoryads.Server){
			func(*memoryads.Server) {},
			func(s *memoryads.Server) { s.Fail(transport.MethodDeltaADS, transport.ErrUnimplemented) },
			func(s *memoryads.Server) { s.Silence(transport.MethodDeltaADS, true) },
		} {
			c, s := newThings(t, feature.TransportAuto)
			spoil(s)
			s.Set(things.URL(), thing("a", "1"))
			f := follow(t.Context(), t, c, things, "a")
			f.value("1")
			_ = c.Close()
		}
	})
}

func TestSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newThings(t, feature.TransportDelta)
		began := time.Now()
		picture := func() status.Snapshot {
			t.Helper()
			synctest.Wait()
			p, err := c.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		p := picture()
		if len(p.Servers) != 1 || p.Servers[0].State != status.Idle || len(p.Resources) != 0 || len(p.Authorities) != 2 || !p.Authorities[0].OldStyle ||
			p.Authorities[1].Name != "e" || p.Authorities[1].Active != nil || !p.Taken.Equal(began) {
			t.Errorf("at first: %+v", p)
		}
		s.Set(things.URL(), thing("b", "1"))
		follow(t.Context(), t, c, things, "b").value("1")
		follow(t.Context(), t, c, things, "a")
		follow(t.Context(), t, c, things, "a")
		s.Set(things.URL(), thing("b", "bad"))
		pass(3 * client.DefaultWatcherBudget)
		p = picture()
		e := p.Servers[0]
		if e.State != status.Connected || !e.Delta || e.Streams != 1 || e.Responses != 3 || e.Rejected != 1 || e.Requests < 3 || e.Sent == 0 || e.Received == 0 || e.Err != nil {
			t.Errorf("server = %+v", e)
		}
		if p.Authorities[0].Active != e.Entry || len(p.Resources) != 2 {
			t.Fatalf("snapshot = %+v", p)
		}
		a, b := p.Resources[0], p.Resources[1]
		if a.State != "DOES_NOT_EXIST" || a.Err == nil || a.Update != nil || len(a.Watchers) != 2 || a.Name.String() != "a" || a.Type != "test.Thing" {
			t.Errorf("a = %+v", a)
		}
		if b.State != "NACKED" || b.Version != "1" || b.RejectedVersion != "2" || b.RejectedAt.IsZero() || tag(b.Update) != "1" || !b.Updated.Equal(began) || !errors.Is(b.Err, resource.ErrInvalid) {
			t.Errorf("b = %+v", b)
		}
		pass(client.DefaultWatcherBudget)
		s.Disconnect(errors.New("too long")) // no error to watchers, but one to operators
		if e := picture().Servers[0]; e.Err == nil || !strings.Contains(e.Err.Error(), "too long") {
			t.Errorf("server = %+v", e)
		}
		pass(5 * time.Second)
		s.Refuse(errors.New("refused"))
		s.Disconnect(errors.New("cut"))
		pass(5 * time.Second)
		if e := picture().Servers[0]; e.State != status.Waiting || e.Err == nil || e.ErrAt.IsZero() || !e.RetryAt.After(time.Now()) {
			t.Errorf("server = %+v", e)
		}
		_ = c.Close()
		if _, err := c.Snapshot(t.Context()); !errors.Is(err, resource.ErrClosed) {
			t.Errorf("error = %v, want ErrClosed", err)
		}
	})
}
