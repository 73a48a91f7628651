package clustermanager

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/xdsforge/xdsforge/internal/dataplane/lbtree"
	"github.com/xdsforge/xdsforge/internal/dataplane/serial"
)

// A bench is a policy with children that the test controls.
type bench struct {
	t        *testing.T
	loop     *serial.Loop
	policy   *priorities[*puppet]
	children map[string]*puppet
	reported balancer.State
	log      []string
	// instantly has the states that children report while they are built.
	instantly map[string]connectivity.State
}

type puppet struct {
	b      *bench
	name   string
	report lbtree.Report
}

func (c *puppet) ExitIdle() { c.b.log = append(c.b.log, "exit idle "+c.name) }
func (c *puppet) Close() {
	c.b.log = append(c.b.log, "close "+c.name)
	delete(c.b.children, c.name)
}

// pickerOf tells whose picker it is.
type pickerOf string

func (p pickerOf) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	return balancer.PickResult{}, fmt.Errorf("picked %s", string(p))
}

func (b *bench) build(name string, report lbtree.Report) *puppet {
	b.log = append(b.log, "build "+name)
	c := &puppet{b, name, report}
	b.children[name] = c
	if s, ok := b.instantly[name]; ok {
		report(balancer.State{ConnectivityState: s, Picker: pickerOf(name)})
	}
	return c
}

func (b *bench) configure(name string, c *puppet) {
	if c.name != name {
		b.t.Errorf("child %q is configured as %q", c.name, name)
	}
	b.log = append(b.log, "configure "+name)
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, children: make(map[string]*puppet), instantly: make(map[string]connectivity.State)}
	b.loop = serial.New(func() {})
	b.policy = newPriorities(b.loop, b.build, b.configure, func(s balancer.State) { b.reported = s })
	t.Cleanup(func() { b.loop.Close(b.policy.Close) })
	return b
}

func (b *bench) update(order ...string) { b.loop.Do(func() { b.policy.Update(order) }) }

func (b *bench) set(name string, s connectivity.State) {
	b.loop.Do(func() { b.children[name].report(balancer.State{ConnectivityState: s, Picker: pickerOf(name)}) })
}

// expect checks the actions since the last call, the last reported state, and the owner of its
// picker. "" is a picker that queues.
func (b *bench) expect(when string, s connectivity.State, from string, log ...string) {
	b.t.Helper()
	b.loop.Do(func() {
		if got := strings.Join(b.log, ", "); got != strings.Join(log, ", ") {
			b.t.Errorf("%s: did %q, want %q", when, got, log)
		}
		b.log = nil
		name, _ := b.reported.Picker.(pickerOf)
		if b.reported.ConnectivityState != s || string(name) != from {
			b.t.Errorf("%s: reported %v of %q, want %v of %q", when, b.reported.ConnectivityState, name, s, from)
		}
	})
}

func wait(d time.Duration) {
	<-time.NewTimer(d).C // on the clock of the bubble
	synctest.Wait()
}

const (
	idle       = connectivity.Idle
	connecting = connectivity.Connecting
	ready      = connectivity.Ready
	failure    = connectivity.TransientFailure
)

func TestFailoverAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.update("a", "b", "c")
		b.expect("at first", connecting, "", "build a", "configure a")
		b.set("a", failure)
		b.expect("a fails", connecting, "", "build b", "configure b")
		b.set("b", ready)
		b.expect("b is ready", ready, "b")
		b.set("a", connecting) // sticky: it has failed since it was ready
		b.expect("a tries again", ready, "b")
		b.set("a", ready)
		b.expect("a is back", ready, "a")
		wait(14 * time.Minute)
		b.expect("b is kept for a while", ready, "a")
		b.set("a", failure)
		b.expect("b is used again", ready, "b")
		b.set("a", ready)
		wait(14 * time.Minute)
		b.expect("and kept for a while again", ready, "a")
		wait(2 * time.Minute)
		b.expect("b was not used for 15 min", ready, "a", "close b")
	})
}

func TestFailoverTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.update("a", "b")
		b.expect("at first", connecting, "", "build a", "configure a")
		b.set("a", connecting)
		wait(9 * time.Second)
		b.expect("a has 10 s", connecting, "a")
		wait(2 * time.Second)
		b.expect("they are over", connecting, "", "build b", "configure b")
		wait(11 * time.Second)
		b.expect("those of b, too: the first that connects", connecting, "a")
		b.set("b", idle)
		b.expect("b is idle", idle, "b")
		b.set("a", ready)
		b.expect("a is ready", ready, "a")
		b.set("a", connecting)
		b.expect("a was good: it gets its time again", connecting, "a")
		wait(11 * time.Second)
		b.expect("in vain", idle, "b")
		b.set("a", failure)
		b.set("a", connecting)
		b.expect("having failed, it gets no time", idle, "b")
	})
}

func TestAllFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.instantly["a"], b.instantly["b"] = failure, failure
		b.update("a", "b")
		b.expect("what fails as it is built", failure, "b", "build a", "configure a", "build b", "configure b")
		b.update()
		b.loop.Do(func() {
			slices.Sort(b.log)
			if _, ok := b.reported.Picker.(lbtree.Fail); !ok {
				t.Errorf("without priorities, the picker is %T; must be one that fails", b.reported.Picker)
			}
			b.reported.Picker = nil
		})
		b.expect("without priorities", failure, "", "close a", "close b")
	})
}

func TestUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.update("a", "b")
		b.set("a", failure)
		b.set("b", ready)
		b.expect("b is ready", ready, "b", "build a", "configure a", "build b", "configure b")
		b.update("b")
		b.loop.Do(func() { slices.Sort(b.log) })
		b.expect("a goes at once", ready, "b", "close a", "configure b")
		b.update("c", "b")
		b.expect("c is new and better", connecting, "", "configure b", "build c", "configure c")
		wait(11 * time.Second)
		b.expect("c is too slow", ready, "b")
	})
}

func TestExitIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.instantly["a"] = failure
		b.update("a", "b")
		b.set("a", idle)
		b.expect("a is idle", idle, "a", "build a", "configure a", "build b", "configure b")
		b.loop.Do(b.policy.ExitIdle)
		b.expect("the one that is in use exits", idle, "a", "exit idle a")
	})
}
