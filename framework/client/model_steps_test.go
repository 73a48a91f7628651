package client_test

import (
	"errors"
	"slices"
	"strconv"
	"time"

	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/internal/memoryads"
)

// A modelMove is a step of a sequence. The weight is how often it is drawn. A step that is
// impossible does nothing.
type modelMove struct {
	weight int
	move   func(*modelWorld)
}

// modelMoves are the steps about single resources, servers and watchers.
var modelMoves = []modelMove{
	{24, (*modelWorld).watch},
	{12, (*modelWorld).unwatch},
	{12, (*modelWorld).collect},
	{8, (*modelWorld).scatter},
	{15, (*modelWorld).update},
	{6, (*modelWorld).together},
	{5, (*modelWorld).refuse},
	{5, (*modelWorld).beat},
	{4, (*modelWorld).same},
	{8, (*modelWorld).spoil},
	{10, (*modelWorld).remove},
	{5, (*modelWorld).cut},
	{3, (*modelWorld).stop},
	{5, (*modelWorld).start},
	{5, (*modelWorld).flood},
	{2, (*modelWorld).hold},
	{4, (*modelWorld).unhold},
	{3, (*modelWorld).deafen},
	{4, (*modelWorld).listen},
	{4, (*modelWorld).wakeUp},
	{8, (*modelWorld).burst},
}

// slowness is the delay that slow watchers may cause for others.
const slowness = 3 * client.DefaultWatcherBudget

// longestHold is how long the client may hold the NACK of repeated content back.
const longestHold = 30 * time.Second

// anyMove draws a step.
func (w *modelWorld) anyMove(moves []modelMove) func(*modelWorld) {
	total := 0
	for _, m := range moves {
		total += m.weight
	}
	n := w.rng.IntN(total)
	for _, m := range moves {
		if n -= m.weight; n < 0 {
			return m.move
		}
	}
	return nil
}

// step takes one step of the sequence. Then little time passes, some time, or enough for all
// goroutines and timers to come to rest.
func (w *modelWorld) step() {
	if !w.moveList() {
		w.anyMove(modelMoves)(w)
	}
	w.pass(slowness)
	w.check(false)
	switch w.rng.IntN(8) {
	case 0:
		w.told("settle")
		w.settle()
	case 1, 2:
		// No sum of these is a timeout of the client.
		d := []time.Duration{317, 2713, 7919, 16127}[w.rng.IntN(4)] * time.Millisecond
		w.told("%v pass", d)
		w.pass(d)
		w.check(false)
	}
}

func (w *modelWorld) anyKey() modelKey { return w.keys[w.rng.IntN(len(w.keys))] }

// anyServer draws a server that the authority of a key may use.
func (w *modelWorld) anyServer(k modelKey) int {
	servers := w.column.layout.authorities[k.authority]
	return servers[w.rng.IntN(len(servers))]
}

func (w *modelWorld) watch() { w.watchKey(w.anyKey()) }

func (w *modelWorld) watchKey(k modelKey) {
	one := &modelWatcher{key: k, number: len(w.watchers) + len(w.gone), ready: make(chan struct{})}
	switch w.rng.IntN(8) {
	case 0:
		one.slow = make(chan struct{})
	case 1:
		one.hasty = true
	}
	w.told("watcher %d: watch %s %s (slow %t, hasty %t)", one.number, k.typ.Name, k.name, one.slow != nil, one.hasty)
	var err error
	if one.cancel, err = w.client.Subscribe(k.typ, k.name, one.notify); err != nil {
		w.failf("Subscribe: %v", err)
		return
	}
	close(one.ready)
	w.watchers = append(w.watchers, one)
	w.named[k] = true
	for _, i := range w.column.layout.authorities[k.authority] {
		w.servers[i].Watched(k.typ.URL(), k.name)
	}
	w.retaken[k] = w.retaken[k] || w.dropped[k]
	w.model.watch(k)
	w.model.subscribe(w.model.server(k), time.Now())
}

func (w *modelWorld) unwatch() {
	if len(w.watchers) > 0 {
		w.unwatchOne(w.watchers[w.rng.IntN(len(w.watchers))])
	}
}

func (w *modelWorld) unwatchOne(one *modelWatcher) {
	w.told("watcher %d: cancel", one.number)
	one.cancel()
	w.forget(one)
}

// forget removes a watcher from the model.
func (w *modelWorld) forget(one *modelWatcher) {
	w.watchers = slices.DeleteFunc(w.watchers, func(other *modelWatcher) bool { return other == one })
	w.gone = append(w.gone, one)
	if !slices.ContainsFunc(w.watchers, func(other *modelWatcher) bool { return other.key == one.key }) {
		w.model.unwatch(one.key)
		w.dropped[one.key], w.left[one.key] = true, true
	}
}

func (w *modelWorld) update() { w.put(w.anyKey(), w.good()) }

func (w *modelWorld) spoil() { w.put(w.anyKey(), w.bad()) }

func (w *modelWorld) remove() { w.put(w.anyKey(), content{}) }

func (w *modelWorld) refuse() { w.put(w.anyKey(), w.trouble()) }

// good returns a new value. Some have a time to live, if the control planes support that.
func (w *modelWorld) good() content {
	w.values++
	c := content{value: "v" + strconv.Itoa(w.values)}
	if (w.temper == memoryads.Letter || w.temper == memoryads.Snapshot) && w.rng.IntN(4) == 0 {
		c.ttl = []time.Duration{3989, 9001, 20011}[w.rng.IntN(3)] * time.Millisecond
	}
	return c
}

func (w *modelWorld) bad() content {
	w.values++
	return content{value: "bad" + strconv.Itoa(w.values), bad: true}
}

// trouble returns an error in place of a resource. If the control planes do not send errors, it
// returns an absent resource.
func (w *modelWorld) trouble() content {
	code := []int32{5, 7, 14}[w.rng.IntN(3)]
	if w.temper != memoryads.Letter {
		return content{}
	}
	return content{code: code}
}

// together changes several resources of a type in one response, so that it may be
// rejected in part.
func (w *modelWorld) together() {
	first := w.anyKey()
	i := w.anyServer(first)
	contents := make(map[modelKey]content)
	for _, k := range w.keys {
		if k.typ == first.typ && slices.Contains(w.column.layout.authorities[k.authority], i) && w.rng.IntN(4) > 0 {
			contents[k] = []func() content{w.good, w.good, w.bad, w.trouble}[w.rng.IntN(4)]()
		}
	}
	w.putAll(i, first.typ, contents)
}

// beat sends a heartbeat of a resource that has a time to live.
func (w *modelWorld) beat() {
	k := w.anyKey()
	i := w.anyServer(k)
	s := w.model.servers[i]
	if s.holds[k].ttl == 0 || s.deaf || s.holding {
		return
	}
	w.told("server %d: heartbeat of %s %s", i, k.typ.Name, k.name)
	w.servers[i].Heartbeat(k.typ.URL(), k.name)
	w.model.beat(s, k)
}

// flood sends three versions of a resource that is watched.
func (w *modelWorld) flood() {
	if len(w.watchers) == 0 {
		return
	}
	k := w.watchers[w.rng.IntN(len(w.watchers))].key
	for range 3 {
		w.put(k, w.good())
		w.pass(slowness)
		w.check(false)
	}
}

// same resends the content that was in use before, such as after a rejection.
func (w *modelWorld) same() {
	k := w.anyKey()
	if b := w.model.beliefs[k]; b != nil && b.value != "" {
		w.put(k, content{value: b.value})
	}
}

func (w *modelWorld) put(k modelKey, c content) {
	w.putAll(w.anyServer(k), k.typ, map[modelKey]content{k: c})
}

// putAll changes the resources of a type that a server holds: it sets some in one response,
// and then deletes others.
func (w *modelWorld) putAll(i int, typ *resource.Descriptor, contents map[modelKey]content) {
	var set []memoryads.Resource
	var deleted []string
	for _, k := range w.keys {
		c, ok := contents[k]
		if !ok {
			continue
		}
		w.told("server %d: %s %s = %q, ttl %v, code %d", i, k.typ.Name, k.name, c.value, c.ttl, c.code)
		w.puts++
		c.version = w.puts
		contents[k] = c
		switch {
		case c.code != 0:
			set = append(set, memoryads.Resource{Name: k.name, Error: &rpcstatus.Status{Code: c.code, Message: "no"}})
		case c.value != "":
			set = append(set, memoryads.Resource{Name: k.name, Body: []byte(k.name + "|" + c.value), TTL: c.ttl})
		default:
			deleted = append(deleted, k.name)
		}
	}
	if len(set) > 0 {
		w.servers[i].Set(typ.URL(), set...)
	}
	if len(deleted) > 0 {
		w.servers[i].Delete(typ.URL(), deleted...)
	}
	w.model.put(w.model.servers[i], contents)
}

func (w *modelWorld) cut() {
	i, err := w.rng.IntN(len(w.servers)), w.ending()
	w.told("server %d: its streams end: %v", i, err)
	w.servers[i].Disconnect(err)
	w.pass(0) // the model is to know when
}

func (w *modelWorld) stop() {
	i := w.rng.IntN(len(w.servers))
	w.told("server %d: stops", i)
	w.servers[i].Refuse(errors.New("connection refused"))
	w.servers[i].Disconnect(w.ending())
	w.pass(0)
}

func (w *modelWorld) start() {
	i := w.rng.IntN(len(w.servers))
	w.told("server %d: starts", i)
	w.servers[i].Refuse(nil)
}

func (w *modelWorld) hold() {
	i := w.rng.IntN(len(w.servers))
	w.told("server %d: holds responses back", i)
	w.servers[i].Hold()
	w.model.servers[i].holding = true
	w.blurBoth(i)
}

func (w *modelWorld) unhold() {
	i := w.rng.IntN(len(w.servers))
	w.told("server %d: sends responses", i)
	w.servers[i].Release()
	s := w.model.servers[i]
	s.holding = false
	for _, hear := range s.withheld {
		hear()
	}
	s.withheld = nil
}

func (w *modelWorld) deafen() {
	i := w.rng.IntN(len(w.servers))
	w.told("server %d: stops reading", i)
	w.servers[i].StopReading()
	w.model.servers[i].deaf = true
	w.blurBoth(i)
}

// blurBoth leaves the state open if a server neither reads nor responds. It may ignore requests
// whose nonces are stale when it reads again.
func (w *modelWorld) blurBoth(i int) {
	if s := w.model.servers[i]; s.deaf && s.holding {
		w.model.blur(true)
	}
}

func (w *modelWorld) listen() {
	i := w.rng.IntN(len(w.servers))
	w.told("server %d: reads", i)
	w.servers[i].ResumeReading()
	w.model.servers[i].deaf = false
	w.model.subscribe(w.model.servers[i], time.Now())
}

// wakeUp continues a slow watcher.
func (w *modelWorld) wakeUp() {
	for _, one := range w.watchers {
		if one.slow != nil && one.view().blocked {
			w.told("watcher %d: goes on", one.number)
			w.release(one)
			return
		}
	}
}

// burst causes several events at once. The client's intermediate states are open, the final one is
// not.
func (w *modelWorld) burst() {
	w.told("at once:")
	w.bursting = true
	for range 2 + w.rng.IntN(4) {
		if w.moveList() {
			continue
		}
		k := w.keys[w.rng.IntN(min(2, len(w.keys)))]
		switch w.rng.IntN(9) {
		case 0, 1:
			w.watchKey(k)
		case 2, 3:
			if i := slices.IndexFunc(w.watchers, func(one *modelWatcher) bool { return one.key == k }); i >= 0 {
				w.unwatchOne(w.watchers[i])
			}
		case 4:
			w.put(k, w.good())
		case 5:
			w.put(k, content{})
		case 6:
			w.put(k, w.bad())
		case 7:
			w.collect()
		case 8:
			w.scatter()
		}
	}
	w.bursting = false
	w.model.blur(w.model.busy())
	w.settle()
}
