package client

import (
	"sync"
	"time"

	"github.com/xdsforge/xdsforge/framework/ads"
	"github.com/xdsforge/xdsforge/framework/authority"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

// An event is something for the loop to take in. Apply runs on the loop.
type event interface {
	apply(l *loop, now time.Time)
}

// The loop owns the machines of a client. Its inbox takes any number of events
// without blocking anybody; the loop takes them all at once, so that what was
// asked for in a burst leaves in one request.
type loop struct {
	client   *Client
	config   ads.Config
	channels []*channel // one for each server entry; set up before run

	mu    sync.Mutex
	inbox []event
	wake  chan struct{} // has a token when the inbox is not empty
}

func newLoop(c *Client, config ads.Config) *loop {
	return &loop{client: c, config: config, wake: make(chan struct{}, 1)}
}

// channel returns the channel to a server: equal entries share one (gRFC A47).
func (l *loop) channel(server *bootstrap.Server) *channel {
	for _, ch := range l.channels {
		if ch.server.Equal(server) {
			return ch
		}
	}
	ch := &channel{client: l.client, server: server, machine: ads.NewSotW(l.config)}
	l.channels = append(l.channels, ch)
	return ch
}

// post hands an event to the loop. Any goroutine; it never blocks for long.
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
			return
		case <-l.wake:
		case <-timer.C:
		}
		batch = l.take(batch[:0])
		now := time.Now()
		for _, ev := range batch {
			ev.apply(l, now)
		}
		clear(batch) // no response may live on in an old event
		l.turn(now)
		if at, ok := l.nextDeadline(); ok {
			timer.Reset(time.Until(at))
		} else {
			timer.Stop()
		}
	}
}

// turn lets time pass for the machines and lets the channels send.
func (l *loop) turn(now time.Time) {
	for _, ch := range l.channels {
		for _, a := range ch.authorities {
			if at, ok := a.machine.NextDeadline(); ok && !now.Before(at) {
				l.toAuthority(a, authority.Tick{}, now)
			}
		}
		l.toStream(ch, ads.Turn{}, now)
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
		for _, a := range ch.authorities {
			consider(a.machine.NextDeadline())
		}
	}
	return earliest, ok
}

// toAuthority gives an event to an authority and does what it answers.
func (l *loop) toAuthority(a *authorityScope, ev authority.Event, now time.Time) {
	for _, e := range a.machine.Handle(ev, now) {
		switch e := e.(type) {
		case authority.Subscribe:
			l.toStream(a.channel, ads.Subscribe{Type: e.Type, Name: e.Name}, now)
		case authority.Unsubscribe:
			l.toStream(a.channel, ads.Unsubscribe{Type: e.Type, Name: e.Name}, now)
		case authority.Notify:
			e.Watcher.Notify(e.State)
		}
	}
}

// toStream gives an event to a channel's stream machine and does what it answers.
func (l *loop) toStream(ch *channel, ev ads.Event, now time.Time) {
	for _, e := range ch.machine.Handle(ev, now) {
		switch e := e.(type) {
		case ads.Open:
			ch.open(l)
		case ads.Send:
			ch.send(e)
		case ads.Asked:
			l.toAuthorities(ch, authority.Asked{Type: e.Type, Names: e.Names}, now)
		case ads.Lost:
			ch.logLost(e.Err)
			l.toAuthorities(ch, authority.Lost{Err: e.Err}, now)
		case ads.Healthy:
			l.toAuthorities(ch, authority.Healthy{}, now)
		case ads.Idle:
			ch.rest()
			l.toAuthorities(ch, authority.Idle{}, now)
		}
	}
}

func (l *loop) toAuthorities(ch *channel, ev authority.Event, now time.Time) {
	for _, a := range ch.authorities {
		l.toAuthority(a, ev, now)
	}
}
