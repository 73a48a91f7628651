package adsserver

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/source"
	"github.com/xdsforge/xdsforge/internal/adsmodel"
	"github.com/xdsforge/xdsforge/internal/statedir"
)

var systemSequences = flag.Int("model.systems", 500, "number of random sequences of TestSystemModel in each variant of the protocol")

// TestSystemModel runs random sequences of a server: with several sources that answer late, go down and are restored, with
// state directories and restarts, aliases, TTLs, permissions, limits, and clients of different habits. At rest, each client
// has exactly the resources that its permissions and the sources give. At no time is a client told that something is gone which no source
// has removed.
func TestSystemModel(t *testing.T) {
	for _, delta := range []bool{false, true} {
		t.Run(fmt.Sprintf("delta=%t", delta), func(t *testing.T) {
			for i := range *systemSequences {
				runSystem(t, *modelFirst+uint64(i), delta)
				if t.Failed() {
					t.Fatalf("seed %d", *modelFirst+uint64(i))
				}
			}
		})
	}
}

// A system is a server, its sources and its clients.
type system struct {
	t        *testing.T
	rnd      *rand.Rand
	axes     axes
	planes   []*plane // the first one has the old-style names
	truth    *adsmodel.Truth
	dir      *statedir.Dir // nil: the server has no state directory
	path     string
	core     *Core
	clients  []*customer
	acting   *customer   // of the current step
	within   bool        // between two parts of a request
	sleeping atomic.Bool // time passes: goroutines of the core may work, which must not change the system
	value    int
}

// axes are the choices for a whole sequence.
type axes struct {
	authorities   int // with a source of their own
	evil          bool
	stateDir      bool
	ttl           bool
	permissions   bool
	revisions     bool // versions have revisions, as those of etcd
	interruptions bool
	coalesce      bool
	small         bool // the limit of responses divides each
	pause         bool // removals wait, as in package serve
	limit         string
}

func chooseAxes(rnd *rand.Rand) axes {
	one := func(n int) bool { return rnd.IntN(n) == 0 }
	a := axes{
		authorities: rnd.IntN(3), evil: one(4), stateDir: one(6), ttl: one(4), permissions: one(4), revisions: one(3), interruptions: one(2),
		coalesce: one(4), small: one(4),
	}
	if one(4) {
		a.limit = []string{"names", "collections", "types", "bytes", "longest", "client"}[rnd.IntN(6)]
	}
	a.pause = one(4)
	a.evil = a.evil && a.authorities == 2
	a.interruptions = a.interruptions && a.limit != "client" // an ending stream counts until its last part
	return a
}

func runSystem(t *testing.T, seed uint64, delta bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		w := &system{t: t, rnd: rnd, axes: chooseAxes(rnd), truth: adsmodel.NewTruth(systemUniverse())}
		w.begin()
		defer w.end()
		for i := range 1 + w.rnd.IntN(4) {
			w.clients = append(w.clients, newCustomer(w, i, delta))
		}
		for range 25 {
			w.step()
			if w.rnd.IntN(4) == 0 && !t.Failed() {
				w.settle()
			}
			if t.Failed() {
				break
			}
		}
		if !t.Failed() {
			w.wakeAll()
			w.settle()
		}
		if t.Failed() {
			t.Logf("seed %d, %+v", seed, w.axes)
			for _, c := range w.clients {
				t.Logf("%s, %v:\n%s", c.Name, c.Habit, strings.Join(c.Log(), "\n"))
			}
		}
	})
}

func (w *system) note(format string, args ...any) {
	for _, c := range w.clients {
		c.Note("\t"+format, args...)
	}
}

// begin makes the sources and the first server.
func (w *system) begin() {
	w.t.Helper()
	for _, name := range []string{"", "b", "c"}[:1+w.axes.authorities] {
		w.planes = append(w.planes, &plane{system: w, name: name, known: true})
	}
	if w.axes.stateDir {
		w.path = w.t.TempDir()
		if err := os.Chmod(w.path, 0o700); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, p := range w.planes {
		p.newStore()
		if w.rnd.IntN(3) == 0 {
			p.sleep()
			p.known = false
		}
	}
	w.serve()
}

// serve starts a server.
func (w *system) serve() {
	w.t.Helper()
	config := Config{Authorities: make(map[string]source.Source), AnswerTimeout: 10 * time.Second, Limits: w.limits()}
	if w.axes.coalesce {
		config.Coalesce = 100 * time.Millisecond
	}
	if w.axes.pause {
		config.RemovalPause = 500 * time.Millisecond
	}
	if w.axes.stateDir {
		w.openDir()
	}
	for _, p := range w.planes {
		s := p.source()
		if p.name == "" {
			config.Source = s
		} else {
			config.Authorities[p.name] = s
		}
	}
	var err error
	if w.core, err = New(config); err != nil {
		w.t.Fatal(err)
	}
	if w.axes.interruptions {
		w.core.part, w.core.between = 1+w.rnd.IntN(2), w.interrupt
	}
}

func (w *system) limits() (l Limits) {
	switch w.axes.limit {
	case "names":
		l.Names = 5
	case "collections":
		l.Collections = 1
	case "types":
		l.Types = 2
	case "bytes":
		l.TotalBytes = 120
	case "longest":
		l.NameBytes = len(longName) - 1
	}
	if w.axes.small {
		l.ResponseBytes = 50
	}
	return l
}

// end ends the server.
func (w *system) end() {
	_ = w.core.Close()
	if w.dir != nil {
		if err := w.dir.Close(); err != nil {
			w.t.Error(err)
		}
	}
}

// interrupt acts between two parts of a request.
func (w *system) interrupt() {
	if w.sleeping.Load() || w.within || w.rnd.IntN(2) == 0 {
		return
	}
	w.within = true
	defer func() { w.within = false }()
	switch w.rnd.IntN(3) {
	case 0:
		w.commit()
	case 1:
		if c := w.any(); c != w.acting {
			w.act(c)
		}
	case 2:
		if c := w.any(); c != w.acting {
			c.Read("")
		}
	}
	synctest.Wait()
}

func (w *system) any() *customer { return w.clients[w.rnd.IntN(len(w.clients))] }

// step is one event.
func (w *system) step() {
	switch w.rnd.IntN(12) {
	case 0, 1, 2:
		w.commit()
	case 3:
		w.planes[w.rnd.IntN(len(w.planes))].event()
	case 4:
		w.pass(time.Duration(1+w.rnd.IntN(8)) * time.Second)
	case 5:
		if w.rnd.IntN(3) == 0 {
			w.restart()
		}
	default:
		w.act(w.any())
	}
	if w.rnd.IntN(2) == 0 {
		synctest.Wait()
	}
}

// act has a client do something.
func (w *system) act(c *customer) {
	before := w.acting
	w.acting = c
	defer func() { w.acting = before }()
	c.act()
	if !w.within {
		c.heal()
	}
}

// pass lets time pass.
func (w *system) pass(d time.Duration) { w.spend(d, true) }

// spend lets time pass. With TTLs, the clients read meanwhile, and sources may renew resources.
func (w *system) spend(d time.Duration, renew bool) {
	w.heal()
	if !w.axes.ttl {
		w.sleep(d)
		return
	}
	for ; d > 0; d -= time.Second {
		if renew && w.rnd.IntN(2) == 0 {
			w.renew()
		}
		w.heal()
		w.sleep(time.Second)
		for _, c := range w.clients {
			w.acting = c
			c.Drain()
			c.CheckFresh(func(y *adsmodel.Type, name string) bool { return w.unheard(c, y, name) })
		}
		w.acting = nil
	}
}

// heal has the clients connect again whose streams have ended: no time for heartbeats and answers passes without a stream.
func (w *system) heal() {
	for _, c := range w.clients {
		w.acting = c
		c.heal()
	}
	w.acting = nil
}

// unheard reports whether a client need not receive the heartbeats of a resource: because its source is not known, or because
// the response would delete resources of one that is not known.
func (w *system) unheard(c *customer, y *adsmodel.Type, name string) bool {
	r, ok := w.truth.Get(key(y.URL, name))
	return !w.planeOf(name).known || !c.Delta && c.Complete(y.URL) && w.quiet() || w.unsure(name) || !ok || r.TTL == 0
}

func (w *system) sleep(d time.Duration) {
	w.sleeping.Store(true)
	<-time.NewTimer(d).C
	synctest.Wait()
	w.sleeping.Store(false)
	w.truth.Note()
}

// quiet reports whether a source does not answer.
func (w *system) quiet() bool {
	for _, p := range w.planes {
		if p.quiet {
			return true
		}
	}
	return false
}

// unsure reports whether the source of a name does not answer.
func (w *system) unsure(name string) bool { return w.planeOf(name).quiet }

func (w *system) wakeAll() {
	for _, p := range w.planes {
		p.wake()
	}
}

// drain has the clients read everything, and connect again.
func (w *system) drain() {
	for _, c := range w.clients {
		w.acting = c
		c.Drain()
		c.heal()
		c.Drain()
	}
	synctest.Wait()
}

// settle has the clients read everything, and compares their states with the truth.
func (w *system) settle() {
	w.within = true // nothing changes meanwhile
	defer func() { w.within = false }()
	synctest.Wait()
	if w.rnd.IntN(2) == 0 {
		w.wakeAll()
	}
	if w.quiet() {
		w.pass(11 * time.Second)
	} else {
		w.pass(3 * time.Second)
	}
	w.drain()
	for range 2 { // removals wait for the answers to the others, and at most for removalLimit
		if w.axes.pause {
			w.pass(removalLimit + time.Second)
			w.drain()
		}
	}
	for _, c := range w.clients {
		w.acting = c
		c.Drain()
		w.truth.Check(c.Client, adsmodel.View{Allowed: c.allowed, Denial: refusal, Unsure: w.unsure})
		c.checkQuiet()
		c.Rest()
	}
	w.acting = nil
	w.truth.Rest()
}
