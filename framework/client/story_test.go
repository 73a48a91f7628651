package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/status"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/feature"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// A storyWorld is a client with a primary and a fallback server.
type storyWorld struct {
	*testing.T
	primary, fallback *memoryads.Server
	client            *client.Client
	read              int // events
}

func inStory(t *testing.T, f func(w *storyWorld), features ...any) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		types, err := resource.NewSet(things)
		if err != nil {
			t.Fatal(err)
		}
		of := memoryads.Type{URL: things.URL()}
		w := &storyWorld{T: t, primary: memoryads.NewServer(of), fallback: memoryads.NewServer(of)}
		spec := bootstrap.Spec{Servers: []bootstrap.ServerSpec{server("memory:1", features...), server("memory:2", features...)}}
		network := memoryads.Network{"memory:1": w.primary, "memory:2": w.fallback}
		if w.client, err = newWith(config(t, spec), types, withTransport(network)); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = w.client.Close() }()
		f(w)
	})
}

func (w *storyWorld) watch(name string) (stop func()) {
	w.Helper()
	o, err := w.client.Observe(things, name)
	if err != nil {
		w.Fatal(err)
	}
	pass(time.Second) // requests are paced
	return o.Stop
}

// tells checks the events since the last call, without their times.
func (w *storyWorld) tells(want ...string) {
	w.Helper()
	pass(time.Second)
	var got []string
	events := w.client.Events()
	for i, ev := range events {
		if ev.Number != uint64(i+1) || ev.Time.After(time.Now()) || ev.Time.IsZero() || i > 0 && ev.Time.Before(events[i-1].Time) {
			w.Errorf("event %d = %v", i+1, ev)
		}
		if ev.Time = (time.Time{}); i >= w.read {
			got = append(got, ev.String())
		}
	}
	w.read = len(events)
	if !slices.Equal(got, want) {
		w.Errorf("events =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// server returns the state of the primary.
func (w *storyWorld) server() status.Server {
	w.Helper()
	return summary(w.T, w.client).Servers[0]
}

// The events of a client tell what happened: from the first stream to the last.
func TestEventsTellTheStory(t *testing.T) {
	inStory(t, func(w *storyWorld) {
		w.primary.Set(things.URL(), thing("a", "1"), thing("b", "bad"))
		w.fallback.Set(things.URL(), thing("a", "2"), thing("c", "2"))
		w.watch("a")
		w.tells("CONNECTED memory:1", `RESPONSE memory:1 1 Thing version "1"`, `ACCEPTED memory:1 1 Thing version "1"`)
		w.watch("b")
		w.tells(`RESPONSE memory:1 1 Thing version "1"`,
			`REJECTED memory:1 1 Thing version "1": 1 of 1 resources rejected: Thing "b": a bad thing`,
			`MISSING memory:1 1 Thing such as "a"`) // this server sends only new resources
		for _, name := range []string{"c", "d"} {
			if _, err := w.client.Observe(things, name); err != nil { // until the client ends
				t.Fatal(err)
			}
			pass(time.Second) // the request for the second repeats the first
		}
		pass(8 * time.Second)
		w.tells("ASKED_AGAIN memory:1 1 Thing")
		pass(8 * time.Second)
		w.tells(`TIMED_OUT memory:1 1 Thing such as "c"`, `TIMED_OUT memory:1 1 Thing such as "d"`)
		w.primary.Refuse(errors.New("refused"))
		w.primary.Disconnect(errors.New("cut"))
		pass(10 * time.Second)
		w.tells("LOST memory:1: cut", "LOST memory:1: refused", "FELL_BACK old-style names memory:2", "CONNECTED memory:2",
			`RESPONSE memory:2 2 Thing version "1"`, `ACCEPTED memory:2 2 Thing version "1"`)
	})
}

// An outage is one event, and another one if its reason changes. The authority falls back and
// returns.
func TestEventsOfAnOutage(t *testing.T) {
	inStory(t, func(w *storyWorld) {
		w.primary.Refuse(errors.New("refused"))
		w.fallback.Set(things.URL(), thing("a", "2"))
		w.watch("a")
		w.tells("LOST memory:1: refused", "FELL_BACK old-style names memory:2", "CONNECTED memory:2",
			`RESPONSE memory:2 1 Thing version "1"`, `ACCEPTED memory:2 1 Thing version "1"`)
		pass(time.Minute)
		w.tells()
		w.primary.Refuse(errors.New("refused for another reason"))
		pass(5 * time.Minute)
		w.tells("LOST memory:1: refused for another reason")
		w.primary.Set(things.URL(), thing("a", "1"))
		w.primary.Refuse(nil)
		pass(5 * time.Minute)
		w.tells("CONNECTED memory:1", `RESPONSE memory:1 1 Thing version "1"`, `ACCEPTED memory:1 1 Thing version "1"`,
			"RETURNED old-style names memory:1", "CLOSED memory:2: a better server has taken over")
	})
}

// The end of a stream without a response is one event, although it begins an outage.
func TestEventsOfASilentServer(t *testing.T) {
	inStory(t, func(w *storyWorld) {
		w.fallback.Refuse(errors.New("refused"))
		w.primary.Hold()
		w.watch("a")
		w.tells("CONNECTED memory:1")
		w.primary.Disconnect(errors.New("cut"))
		pass(5 * time.Second) // over the first back-off
		w.tells("LOST memory:1: cut", "FELL_BACK old-style names memory:2", "LOST memory:2: refused", "CONNECTED memory:1")
	})
}

// The client closes a stream that nobody needs, and opens another one later.
func TestEventsOfAnIdleServer(t *testing.T) {
	inStory(t, func(w *storyWorld) {
		w.primary.Set(things.URL(), thing("a", "1"))
		stop := w.watch("a")
		stop()
		pass(5 * time.Minute)
		w.tells("CONNECTED memory:1", `RESPONSE memory:1 1 Thing version "1"`, `ACCEPTED memory:1 1 Thing version "1"`, "CLOSED memory:1: nothing is watched")
		w.watch("a")
		w.tells("CONNECTED memory:1", `RESPONSE memory:1 1 Thing version "1"`, `ACCEPTED memory:1 1 Thing version "1"`)
	})
}

// A stream that a server does not answer by the delta protocol is lost. A long reason is clipped.
func TestEventsHaveReasons(t *testing.T) {
	inStory(t, func(w *storyWorld) {
		w.primary.Set(things.URL(), thing("a", "1"))
		w.primary.Silence(transport.MethodDeltaADS, true)
		w.watch("a")
		pass(time.Minute)
		w.primary.Refuse(errors.New("refused"))
		w.primary.Disconnect(errors.New(strings.Repeat("x", 5000)))
		pass(5 * time.Second)
		w.tells("CONNECTED memory:1", "LOST memory:1: the control plane does not answer the delta protocol",
			"CONNECTED memory:1", `RESPONSE memory:1 1 Thing version "1"`, `ACCEPTED memory:1 1 Thing version "1"`,
			"LOST memory:1: "+strings.Repeat("x", 1024)+"…", "LOST memory:1: refused")
		for _, ev := range w.client.Events() {
			if ev.Err != nil && len(ev.Err.Error()) > 1100 {
				t.Errorf("the error of an event has %d bytes, want it clipped", len(ev.Err.Error()))
			}
		}
	}, feature.TransportAuto)
}

// Delta responses have the version of the system, and removals.
func TestEventsOfDelta(t *testing.T) {
	inStory(t, func(w *storyWorld) {
		w.primary.Set(things.URL(), thing("a", "1"), thing("b", "1"))
		w.primary.Set(things.URL(), thing("b", "2"))
		w.watch("a")
		w.primary.Delete(things.URL(), "a")
		w.tells("CONNECTED memory:1", `RESPONSE memory:1 1 Thing version "2"`, `ACCEPTED memory:1 1 Thing version "2"`,
			`RESPONSE memory:1 0 Thing version "3", 1 removed`)
		want := []status.Traffic{{Server: w.server().Entry, Type: "test.Thing", Version: "3", Valid: 1}}
		if got := summary(w.T, w.client).Traffic; !slices.Equal(got, want) {
			t.Errorf("traffic = %v, want %v", got, want)
		}
	}, feature.TransportDelta)
}

// Each response counts its resources, unchanged ones too (gRFC A78).
func TestResourcesAreCountedByType(t *testing.T) {
	inStory(t, func(w *storyWorld) {
		w.primary.Set(things.URL(), thing("a", "1"), thing("b", "1"))
		w.watch("a")
		w.watch("b")
		w.primary.Set(things.URL(), thing("b", "bad"))
		pass(time.Second)
		w.primary.Inject(sotwResponse(t, strings.Repeat("v", 300)))
		want := []status.Traffic{{Server: w.server().Entry, Type: "test.Thing", Version: strings.Repeat("v", 256) + "…", Valid: 4, Invalid: 1}}
		if got := summary(w.T, w.client).Traffic; !slices.Equal(got, want) {
			t.Errorf("traffic = %v, want %v", got, want)
		}
	})
}

// A server counts as connected from its first attempt on. A failure, or a stream without a response,
// ends that, and only a response begins it again (gRFC A78).
func TestConnected(t *testing.T) {
	inStory(t, func(w *storyWorld) {
		is := func(want bool, failures uint64, when string) {
			t.Helper()
			if s := w.server(); s.Connected != want || s.Failures != failures {
				t.Errorf("%s: connected = %v after %d failures, want %v and %d", when, s.Connected, s.Failures, want, failures)
			}
		}
		is(false, 0, "idle")
		w.primary.Hold()
		stop := w.watch("a")
		is(true, 0, "with a stream that has no response")
		w.primary.Disconnect(errors.New("cut"))
		is(false, 1, "after a stream without a response")
		pass(3 * time.Second)
		if s := w.server(); s.State != status.Connected {
			t.Fatalf("state = %v, want the next stream", s)
		}
		is(false, 1, "with another stream that has no response")
		w.primary.Set(things.URL(), thing("a", "1"))
		w.primary.Release()
		is(true, 1, "after a response")
		w.primary.Disconnect(errors.New("cut"))
		is(true, 1, "after a stream with a response")
		w.primary.Refuse(errors.New("refused"))
		w.primary.Disconnect(errors.New("cut"))
		pass(10 * time.Second)
		is(false, 2, "while streams are refused")
		pass(time.Minute)
		is(false, 2, "after more attempts")
		stop()
		pass(5 * time.Minute)
		is(false, 2, "when nothing is watched")
		w.primary.Refuse(nil)
		w.primary.Hold()
		w.watch("a")
		is(true, 2, "with a new stream after that")
	})
}

// A follower gets the recorded events and then further ones, until its context or the client ends.
func TestFollowEvents(t *testing.T) {
	inStory(t, func(w *storyWorld) {
		w.primary.Set(things.URL(), thing("a", "1"))
		w.watch("a")
		follow := func(ctx context.Context, most int) <-chan string {
			kinds := make(chan string, 1)
			go func() {
				var list []string
				for ev := range w.client.FollowEvents(ctx) {
					list = append(list, string(ev.Kind))
					if len(list) == most {
						break
					}
				}
				kinds <- fmt.Sprint(list)
			}()
			synctest.Wait()
			return kinds
		}
		ctx, cancel := context.WithCancel(w.Context())
		cancelled, whole, two := follow(ctx, -1), follow(w.Context(), -1), follow(w.Context(), 2)
		w.primary.Set(things.URL(), thing("a", "2"))
		synctest.Wait()
		cancel()
		gone := follow(ctx, -1)
		w.primary.Delete(things.URL(), "a")
		w.primary.Set(things.URL(), thing("a", "bad"))
		synctest.Wait()
		_ = w.client.Close()
		const first = "CONNECTED RESPONSE ACCEPTED RESPONSE ACCEPTED"
		for want, got := range map[string]<-chan string{"": gone, "CONNECTED RESPONSE": two, first: cancelled, first + " RESPONSE REJECTED": whole} {
			if kinds := <-got; kinds != "["+want+"]" {
				t.Errorf("a follower got %s, want %s", kinds, want)
			}
		}
		if n := len(w.client.Events()); n != 7 {
			t.Errorf("%d events after Close, want all 7", n)
		}
	})
}

// sotwResponse is a response with both things, of a version.
func sotwResponse(t *testing.T, version string) []byte {
	t.Helper()
	r := &discoveryv3.DiscoveryResponse{TypeUrl: things.URL(), VersionInfo: version, Nonce: "injected"}
	for _, name := range []string{"a", "b"} {
		r.Resources = append(r.Resources, &anypb.Any{TypeUrl: things.URL(), Value: thing(name, "1").Body})
	}
	b, err := proto.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
