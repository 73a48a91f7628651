package lrs_test

import (
	"errors"
	"testing"
	"time"

	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/load"
)

var errNetwork = errors.New("connection refused")

// An event reports something to a machine.
type event func(m *lrs.Machine, now time.Time)

var (
	tick          event = (*lrs.Machine).Tick
	streamOpened  event = (*lrs.Machine).Opened
	streamWritten event = (*lrs.Machine).Written
)

func want(wanted bool) event {
	return func(m *lrs.Machine, now time.Time) { m.Want(wanted, now) }
}

func closed(err error, unimplemented bool) event {
	return func(m *lrs.Machine, now time.Time) { m.Closed(err, unimplemented, now) }
}

func received(in lrs.Instructions) event {
	return func(m *lrs.Machine, now time.Time) { m.Received(in, now) }
}

func set(names ...string) map[string]struct{} {
	s := make(map[string]struct{})
	for _, n := range names {
		s[n] = struct{}{}
	}
	return s
}

func instructions(interval time.Duration, clusters ...string) lrs.Instructions {
	return lrs.Instructions{
		ClusterFilter: load.ClusterFilter{All: len(clusters) == 0, Clusters: set(clusters...)},
		Interval:      interval,
	}
}

const sec = time.Second

func TestBackoffIsThatOfTheConfig(t *testing.T) {
	backoff := ads.Backoff{Base: 20 * sec, Max: time.Hour, Factor: 2}
	now := time.Unix(1e9, 0)
	for want, c := range map[time.Duration]lrs.Config{20 * sec: {Backoff: backoff}, sec: {}} {
		c.Random = func() float64 { return 0.5 }
		m := lrs.New(c)
		m.Want(true, now)
		m.Ready()
		m.Closed(errNetwork, false, now)
		if e := m.Ready().StreamEnded; e == nil || e.RetryAt.Sub(now) != want {
			t.Errorf("with the back-off %+v: StreamEnded = %+v; want a retry in %v", c.Backoff, e, want)
		}
	}
}
