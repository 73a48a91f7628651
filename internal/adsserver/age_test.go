package adsserver

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/source"
)

const staleName = "xdstp://stale/envoy.config.cluster.v3.Cluster/a"

// A source that is stale for longer than MaxStaleness ends the streams that use it, also those that
// begin to use it later. Other streams continue. Once the source is live again, streams may use it.
func TestMaxStaleness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var states atomic.Int64
		stale := source.NewMemory()
		_, c := newCore(t, Config{
			MaxStaleness: time.Minute, Authorities: map[string]source.Source{"stale": stale}, State: func() { states.Add(1) },
		})
		byName, byGlob, other, late := newNaive(t, c, true), newNaive(t, c, true), newNaive(t, c, true), newNaive(t, c, true)
		byName.change(clusterURL, []string{staleName}, nil)
		byGlob.change(clusterURL, []string{"xdstp://stale/envoy.config.cluster.v3.Cluster/*"}, nil)
		other.change(clusterURL, []string{"a", source.Wildcard}, nil)
		synctest.Wait()
		streams := func(when string, want int) {
			t.Helper()
			synctest.Wait()
			if n := c.OpenStreams(); n != want {
				t.Errorf("%s: %d streams are open, want %d", when, n, want)
			}
		}
		stale.SetState(source.State{Kind: source.Stale})
		pass(59 * time.Second)
		stale.SetState(source.State{Kind: source.Live}) // in time
		pass(2 * time.Second)
		stale.SetState(source.State{Kind: source.Stale, Since: time.Now()})
		pass(30 * time.Second)
		stale.SetState(source.State{Kind: source.Down, Err: errors.New("lost"), Since: time.Now().Add(-50 * time.Second)})
		pass(9 * time.Second)
		streams("after 59 s", 4)
		before := states.Load()
		pass(2 * time.Second)
		streams("after 61 s", 2)
		for _, n := range []*naive{byName, byGlob} {
			var old *StaleError
			if _, err := n.stream.Next(t.Context()); !errors.As(err, &old) || old.Authority != "stale" || old.Age < time.Minute || old.Max != time.Minute {
				t.Errorf("the stream ended with %v, want the age of the source", err)
			}
		}
		if states.Load() == before {
			t.Error("the end of the time was not reported")
		}
		if f := c.Feeds(); len(f) != 2 || f[0].Expired || !f[1].Expired || !strings.Contains((&StaleError{Authority: "stale", Max: time.Minute}).Error(), `"stale"`) {
			t.Errorf("feeds = %+v, want the second one expired", f)
		}
		late.change(clusterURL, []string{"a"}, nil)
		streams("with a late stream of another source", 2)
		raw, err := proto.Marshal(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusterURL, ResourceNamesSubscribe: []string{staleName}})
		if err != nil {
			t.Fatal(err)
		}
		var old *StaleError
		if err := late.stream.Request(raw); !errors.As(err, &old) {
			t.Errorf("a late request for the source returns %v, want its age", err)
		}
		streams("with a late stream of the source", 1)
		stale.SetState(source.State{Kind: source.Live})
		synctest.Wait()
		byName.connect()
		streams("when the source is live", 2)
		if f := c.Feeds(); f[1].Expired || !f[1].Stale.IsZero() || c.expired != 0 {
			t.Errorf("feeds = %+v and %d of them expired, want the second one current", f, c.expired)
		}
	})
}

// Ready waits for the first state of the main source, and returns the error of one that is down.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, c := newCore(t, Config{})
		down := errors.New("not mounted")
		for _, test := range []struct {
			state source.State
			want  error
		}{
			{source.State{Kind: source.Live}, nil},
			{source.State{Kind: source.Stale}, nil},
			{source.State{Kind: source.Down, Err: down}, down},
		} {
			m.SetState(test.state)
			synctest.Wait()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := c.Ready(ctx); !errors.Is(err, test.want) {
				t.Errorf("%v: Ready = %v, want %v", test.state.Kind, err, test.want)
			}
			cancel()
		}
		m.SetState(source.State{Kind: source.Down})
		synctest.Wait()
		if err := c.Ready(t.Context()); err == nil {
			t.Error("a source that is down without a reason is ready")
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Ready(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Ready = %v after Close, want ErrClosed", err)
		}
		silent := source.NewMemory()
		silent.SetState(source.State{})
		unknown, err := New(Config{Source: silent})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unknown.Close() }()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := unknown.Ready(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Ready = %v for a source without a state, want the end of the context", err)
		}
		without, err := New(Config{Authorities: map[string]source.Source{"stale": source.NewMemory()}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = without.Close() }()
		if err := without.Ready(t.Context()); err != nil {
			t.Errorf("Ready = %v without a main source", err)
		}
	})
}
