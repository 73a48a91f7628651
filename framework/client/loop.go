package client

import (
	"log/slog"
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/internal/lrs"
	"github.com/xdsforge/xdsforge/framework/resource"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// An event is an input of the loop. The loop calls apply.
type event interface {
	apply(l *loop, now time.Time)
}

// The loop owns the machines of a client. Its inbox takes any number of events without blocking.
// The loop handles all of them at once, so that one request carries a burst of subscriptions.
type loop struct {
	client   *Client
	config   ads.Config
	channels []*channel // one for each server entry; set up before run
	loads    []*loadChannel

	mu    sync.Mutex
	inbox []event
	wake  chan struct{} // has a token when the inbox is not empty

	now time.Time // of the current events

	asked uint64 // responses with a question

	// While the loop applies a response: the work of the watchers that it concerns, and whether
	// there are any.
	work *work
	news bool
}

// keptEvents is the limit of the memory for events that is kept after a burst.
const keptEvents = 1 << 10

func newLoop(c *Client, config ads.Config) *loop {
	return &loop{client: c, config: config, wake: make(chan struct{}, 1)}
}

// channel returns the channel to a server. Equal entries share one (gRFC A47).
func (l *loop) channel(server *bootstrap.Server) *channel {
	for _, ch := range l.channels {
		if ch.server.Equal(server) {
			return ch
		}
	}
	config := l.config
	switch {
	case server.HasFeature(feature.TransportDelta):
		config.Protocol = ads.Delta
	case server.HasFeature(feature.TransportAuto):
		config.Protocol = ads.Auto
	}
	ch := &channel{client: l.client, server: server, machine: ads.New(config), encoded: make(map[*resource.Descriptor]encodedNames)}
	l.channels = append(l.channels, ch)
	return ch
}

// post adds an event to the inbox. Any goroutine; it never blocks for long.
func (l *loop) post(ev event) {
	l.mu.Lock()
	l.inbox = append(l.inbox, ev)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *loop) take(spare []event) []event {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.inbox
	l.inbox = spare
	return batch
}

func (l *loop) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var batch []event
	for {
		select {
		case <-l.client.done:
			for _, ch := range l.channels {
				ch.logNACKs(time.Now().Add(nackInterval)) // before their time
			}
			return
		case <-l.wake:
		case <-timer.C:
		}
		batch = l.take(batch[:0])
		now := time.Now()
		l.now = now
		for _, ev := range batch {
			ev.apply(l, now)
		}
		clear(batch) // an old event must not keep a response in memory
		if cap(batch) > keptEvents {
			batch = nil
		}
		l.turn(now)
		if at, ok := l.nextDeadline(); ok {
			timer.Reset(time.Until(at))
		} else {
			timer.Stop()
		}
	}
}

// turn advances the machines' time and lets the channels send.
func (l *loop) turn(now time.Time) {
	for _, ch := range l.channels {
		ch.lookAgain(l, now)
		ch.logNACKs(now)
	}
	for a := range l.client.allScopes() {
		if at, ok := a.machine.NextDeadline(); ok && !now.Before(at) {
			l.attend(a, now)
			l.toAuthority(a, authority.Tick{}, now)
		}
	}
	for _, ch := range l.channels {
		l.toStream(ch, ads.Turn{}, now)
	}
	for _, ch := range l.loads {
		l.toLoad(ch, lrs.Turn{}, now)
	}
}

func (l *loop) nextDeadline() (earliest time.Time, ok bool) {
	consider := func(at time.Time, has bool) {
		if has && (!ok || at.Before(earliest)) {
			earliest, ok = at, true
		}
	}
	for _, ch := range l.channels {
		consider(ch.machine.NextDeadline())
		for _, n := range ch.nackLogs {
			consider(n.due, !n.due.IsZero())
		}
		if ch.stream != nil {
			consider(ch.stream.reading.look, !ch.stream.reading.look.IsZero())
		}
	}
	for _, ch := range l.loads {
		consider(ch.machine.NextDeadline())
	}
	for a := range l.client.allScopes() {
		consider(a.machine.NextDeadline())
	}
	return earliest, ok
}

// toAuthority passes an event to an authority and carries out its effects.
func (l *loop) toAuthority(a *authorityScope, ev authority.Event, now time.Time) {
	effects := a.machine.Handle(ev, now)
	for _, e := range effects {
		switch e := e.(type) {
		case authority.Subscribe:
			l.toStream(a.channels[e.Server], ads.Subscribe{Type: e.Type, Name: e.Name}, now)
		case authority.Unsubscribe:
			l.toStream(a.channels[e.Server], ads.Unsubscribe{Type: e.Type, Name: e.Name}, now)
		case authority.Overdue:
			l.toStream(a.channels[e.Server], ads.Overdue{Type: e.Type, Name: e.Name}, now)
		case authority.Answered:
			l.toStream(a.channels[e.Server], ads.Answered{Type: e.Type, Name: e.Name}, now)
		case authority.Silent:
			a.channels[e.Server].log(slog.LevelWarn, "the control plane does not answer the subscription to a collection", "type", e.Type.Name, "name", e.Name)
		case authority.Forget:
			l.toStream(a.channels[e.Server], ads.Forget{Type: e.Type, Name: e.Name.String()}, now)
			a.channels[e.Server].drop(e.Type, e.Name)
		case authority.Unused:
			a.channels[e.Server].drop(e.Type, e.Name)
		case authority.Renew:
			l.toStream(a.channels[e.Server], ads.Renew{}, now)
		case authority.Release:
			l.toStream(a.channels[e.Server], ads.Release{}, now)
		case authority.Notify:
			l.news = true
			e.Watcher.Notify(e.State)
		case authority.NotifyMember:
			l.news = true
			e.Watcher.NotifyMember(e.Name, e.State)
		}
	}
	clear(effects) // old effects must not keep anything in memory
}

// toStream passes an event to a channel's stream machine and carries out its effects.
func (l *loop) toStream(ch *channel, ev ads.Event, now time.Time) {
	for _, e := range ch.machine.Handle(ev, now) {
		switch e := e.(type) {
		case ads.Open:
			ch.open(l, e.Delta)
		case ads.Send:
			ch.send(e, now)
		case ads.Asked:
			for _, u := range ch.users {
				l.attend(u.authorityScope, now)
			}
			ch.tell(l, func(i int, _ *authorityScope) authority.Event {
				return authority.Asked{Server: i, Type: e.Type, Names: e.Names}
			}, now)
		case ads.Stale:
			ch.tell(l, func(i int, _ *authorityScope) authority.Event {
				return authority.Stale{Server: i, Type: e.Type, Names: e.Names}
			}, now)
		case ads.Lost:
			ch.lost(e.Err, now)
			ch.tell(l, func(i int, _ *authorityScope) authority.Event { return authority.Lost{Server: i, Err: e.Err} }, now)
		case ads.Healthy:
			ch.healthy(now)
			ch.tell(l, func(i int, _ *authorityScope) authority.Event { return authority.Healthy{Server: i} }, now)
		case ads.Idle:
			ch.rest(e.Released, now)
			ch.tell(l, func(i int, _ *authorityScope) authority.Event { return authority.Idle{Server: i} }, now)
		}
	}
}
