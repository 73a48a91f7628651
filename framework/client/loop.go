package client

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/internal/ads"
	"github.com/xdsforge/xdsforge/framework/internal/authority"
	"github.com/xdsforge/xdsforge/framework/resource"

	"github.com/xdsforge/xdsforge/internal/feature"
)

// The loop owns the machines of a client. Its inbox takes any number of events without blocking.
// The loop handles all of them at once, so that one request carries a burst of subscriptions.
//
// It handles events on one goroutine at a time, which ends when the inbox is empty: a process may have
// thousands of clients. The mutex of the inbox orders these goroutines, so each sees the state of the
// last one.
type loop struct {
	client   *Client
	config   ads.Config
	sessions []*session // one for each server entry; set up before run
	loads    []*loadSession

	mu      sync.Mutex
	inbox   []event
	running bool // there is a goroutine
	closed  bool

	runs    func()      // run
	handled []event     // the memory of the last batch of events
	timer   *time.Timer // posts an event at the next deadline of a machine
	// alarm leads the timer to the loop until the loop ends. Go keeps a stopped timer in memory for a while.
	alarm *atomic.Pointer[loop]
	now   time.Time // of the current iteration

	asked uint64 // responses with a question

	// While the loop applies a response: the delivery to the watchers that it concerns, and whether
	// there are any.
	delivery *delivery
	changed  bool

	filled []*collectionMailbox // mailboxes on hold until all notices of a Ready are delivered
}

// An event is a function that the loop calls, or a subscription that begins. A subscription has no function of its own:
// functions took 4 % of the allocated memory of a start.
type event struct {
	call   func()
	begins *subscription
}

// keptEvents is the limit of the memory for events that is kept after a burst.
const keptEvents = 1 << 10

func newLoop(c *Client, config ads.Config) *loop {
	l := &loop{client: c, config: config, alarm: new(atomic.Pointer[loop])}
	l.runs = l.run
	l.alarm.Store(l)
	alarm := l.alarm
	l.timer = time.AfterFunc(time.Hour, func() {
		if l := alarm.Load(); l != nil {
			l.post(func() {})
		}
	})
	l.timer.Stop()
	return l
}

// session returns the session to a server. Equal entries share one (gRFC A47).
func (l *loop) session(server *bootstrap.Server) *session {
	for _, ses := range l.sessions {
		if ses.server.Equal(server) {
			return ses
		}
	}
	config := l.config
	switch {
	case server.HasFeature(feature.TransportDelta), l.client.pool.delta(server):
		config.Protocol = ads.Delta
	case server.HasFeature(feature.TransportAuto):
		config.Protocol = ads.Auto
	}
	ses := &session{link: link{client: l.client, server: server}, machine: ads.New(config), encoded: make(map[*resource.Descriptor]encodedNames)}
	l.sessions = append(l.sessions, ses)
	return ses
}

// post adds an event to the inbox: a function that the loop calls. It starts a goroutine if there is
// none. After close it does nothing. Any goroutine; it never blocks for long.
func (l *loop) post(call func()) { l.handle(event{call: call}) }

// subscribe is post for a subscription that begins.
func (l *loop) subscribe(s *subscription) { l.handle(event{begins: s}) }

func (l *loop) handle(ev event) {
	if l.add(ev) {
		l.client.goroutines.start(l.runs)
	}
}

// lend is post for a goroutine that would only wait for the event, or end. If the loop has no goroutine, the
// caller runs one iteration, so that no goroutine has to be woken. Another goroutine handles the events that
// come meanwhile.
func (l *loop) lend(call func()) {
	if l.add(event{call: call}) && l.iterate() && l.waits() {
		l.client.goroutines.start(l.runs)
	}
}

// add adds an event to the inbox, unless the loop is closed. It reports whether there was no goroutine:
// then the caller must run the loop.
func (l *loop) add(ev event) (idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.inbox = append(l.inbox, ev)
	idle = !l.running
	l.running = true
	return idle
}

// waits reports whether a goroutine must go on with the loop.
func (l *loop) waits() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running = l.closed || len(l.inbox) > 0
	return l.running
}

// take takes the events of the inbox. Without events, the goroutine must end, and ends the loop if it is
// closed.
func (l *loop) take() (batch []event, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.inbox) == 0 {
		l.running = l.closed
		return nil, l.closed
	}
	batch, l.inbox = l.inbox, l.handled
	return batch, false
}

// close ends the loop after the current iteration, if any, and waits for the end. It must not be called
// twice.
func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	idle := !l.running
	l.mu.Unlock()
	if idle {
		l.end()
	}
	<-l.client.looped
}

// end does the last work of a closed loop.
func (l *loop) end() {
	l.timer.Stop()
	l.alarm.Store(nil)
	l.client.spans.close()
	for _, ses := range l.sessions {
		ses.logNACKs(time.Now().Add(nackInterval)) // before their time
	}
	close(l.client.looped)
}

// run handles events until the inbox is empty.
func (l *loop) run() {
	for {
		if !l.iterate() {
			return
		}
	}
}

// iterate handles the events in the inbox. If there are none, or the loop is closed, it returns false: the
// loop has no goroutine any longer.
func (l *loop) iterate() bool {
	batch, closed := l.take()
	if closed {
		l.end()
	}
	if batch == nil {
		return false
	}
	l.now = time.Now()
	for _, ev := range batch {
		if s := ev.begins; s != nil {
			s.record = s.scope.machine.Watch(s.record, s, l.now)
			l.authority(s.scope)
		} else {
			ev.call()
		}
	}
	clear(batch) // an old event must not keep a response in memory
	if l.handled = batch[:0]; cap(batch) > keptEvents {
		l.handled = nil
	}
	l.tick()
	l.setTimer()
	return true
}

// setTimer sets the timer to the next deadline. The timer may expire before the goroutine ends. Its event
// is then handled like any other one.
func (l *loop) setTimer() {
	if at, ok := l.nextDeadline(); ok {
		l.timer.Reset(time.Until(at))
	} else {
		l.timer.Stop()
	}
}

// tick advances the machines' time and lets the streams send.
func (l *loop) tick() {
	for _, ses := range l.sessions {
		ses.lookAgain(l)
		ses.logNACKs(l.now)
	}
	for a := range l.client.allScopes() {
		if at, ok := a.machine.NextDeadline(); ok && !l.now.Before(at) {
			l.attend(a)
			a.machine.Tick(l.now)
			l.authority(a)
		}
	}
	for _, ses := range l.sessions {
		ses.machine.Tick(l.now)
		l.stream(ses)
	}
	for _, ses := range l.loads {
		ses.machine.Tick(l.now)
		l.load(ses)
	}
}

func (l *loop) nextDeadline() (earliest time.Time, ok bool) {
	consider := func(at time.Time, has bool) {
		if has && (!ok || at.Before(earliest)) {
			earliest, ok = at, true
		}
	}
	for _, ses := range l.sessions {
		consider(ses.machine.NextDeadline())
		for _, n := range ses.nackLogs {
			consider(n.due, !n.due.IsZero())
		}
		if ses.stream != nil {
			consider(ses.stream.reading.look, !ses.stream.reading.look.IsZero())
		}
	}
	for _, ses := range l.loads {
		consider(ses.machine.NextDeadline())
	}
	for a := range l.client.allScopes() {
		consider(a.machine.NextDeadline())
	}
	return earliest, ok
}

// authority carries out the effects of an authority's machine.
func (l *loop) authority(a *authorityScope) {
	r := a.machine.Ready()
	for _, c := range r.Changes {
		a.sessions[c.Server].machine.Change(c.Change, l.now)
	}
	for _, u := range r.Unused {
		a.sessions[u.Server].evict(u)
	}
	for _, u := range r.TimedOut {
		if isCollection(u.Name) || u.Name.IsCollection() {
			a.sessions[u.Server].log(slog.LevelWarn, "the control plane does not answer the subscription to a collection", "type", u.Type.Name, "name", u.Name.String())
		}
	}
	a.timedOut(r.TimedOut)
	a.missing(r.Missing)
	a.keep(r.Stored)
	a.switched(a.machine.Active())
	for i := range r.Notices {
		l.changed = true
		r.Notices[i].Deliver()
	}
	l.releaseFilled()
	r.Clear()
}

// fill holds a mailbox until all notices of the current Ready are delivered: the owner of a
// collection takes its members together with the state of the collection.
func (l *loop) fill(b *collectionMailbox) {
	b.waitFor(l.delivery)
	if !b.noted {
		b.noted = true
		b.hold()
		l.filled = append(l.filled, b)
	}
}

// releaseFilled releases the held mailboxes.
func (l *loop) releaseFilled() {
	for i, b := range l.filled {
		b.noted = false
		b.release()
		l.filled[i] = nil
	}
	l.filled = l.filled[:0]
}

// authorities reports an event of a server to the authorities that may use it. The function report
// gets the position of the server in the authority's list.
func (l *loop) authorities(ses *session, report func(m *authority.Machine, server int)) {
	for _, u := range ses.users {
		report(u.machine, u.server)
		l.authority(u.authorityScope)
	}
}

// stream carries out the effects of a server's stream machine.
func (l *loop) stream(ses *session) {
	r := ses.machine.Ready()
	if r.StreamEnded {
		ses.lost(r.Err, l.now)
		l.authorities(ses, func(m *authority.Machine, i int) { m.StreamEnded(i, r.Err, l.now) })
	}
	if r.Idle {
		ses.idle(r.Released, l.now)
		l.authorities(ses, func(m *authority.Machine, i int) { m.Idle(i) })
	}
	if len(r.Requested.Names) > 0 {
		for _, u := range ses.users {
			l.attend(u.authorityScope)
		}
		l.authorities(ses, func(m *authority.Machine, i int) { m.Requested(i, r.Requested, l.now) })
	}
	if r.Healthy {
		ses.healthy(l.now)
		l.authorities(ses, func(m *authority.Machine, i int) { m.Healthy(i, l.now) })
	}
	for _, names := range r.Stale {
		l.authorities(ses, func(m *authority.Machine, i int) { m.Stale(i, names, l.now) })
	}
	if r.Open {
		ses.open(l)
	}
	if r.Send != nil && !ses.send(r.Send, l.now) {
		l.stream(ses)
	}
}
