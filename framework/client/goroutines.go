package client

import (
	"slices"
	"sync"
	"time"
)

// lingerTime is how long an idle goroutine of a pool waits for a function, at least. Ending a goroutine
// wakes two threads of an idle process, which costs more than a change of a resource.
const lingerTime = time.Second

// A goroutinePool runs functions on goroutines that end soon after the last function: a process may have
// thousands of idle clients. While a client has work, the pool wakes goroutines instead of starting new
// ones, whose stacks would grow each time. The zero value is ready.
type goroutinePool struct {
	mu     sync.Mutex
	idle   []chan<- func() // leads to each idle goroutine; the pool uses the last one first
	unused int             // the number of goroutines, at the front, that were idle since the timer was set
	timer  *time.Timer     // ends unused goroutines; nil before the first is idle
	armed  bool
	closed bool
}

// start runs f on an idle goroutine or a new one. It may be called after close.
func (p *goroutinePool) start(f func()) {
	p.mu.Lock()
	last := len(p.idle) - 1
	if last < 0 {
		p.mu.Unlock()
		go p.work(f)
		return
	}
	next := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	p.unused = min(p.unused, last)
	p.mu.Unlock()
	next <- f // it has room
}

func (p *goroutinePool) work(f func()) {
	next := make(chan func(), 1)
	for f != nil {
		f()
		if !p.rest(next) {
			return
		}
		f = <-next
	}
}

// rest adds an idle goroutine. If the pool is closed, the goroutine must end.
func (p *goroutinePool) rest(next chan<- func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.idle = append(p.idle, next)
	if !p.armed {
		p.arm()
	}
	return true
}

// arm sets the timer. p.mu is held.
func (p *goroutinePool) arm() {
	p.unused, p.armed = len(p.idle), true
	if p.timer == nil {
		p.timer = time.AfterFunc(lingerTime, p.prune)
	} else {
		p.timer.Reset(lingerTime)
	}
}

// prune ends the goroutines that were idle since the timer was set.
func (p *goroutinePool) prune() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end(p.unused)
	if p.armed = len(p.idle) > 0; p.armed {
		p.arm()
	}
}

// end ends the first n idle goroutines. p.mu is held.
func (p *goroutinePool) end(n int) {
	for _, next := range p.idle[:n] {
		next <- nil
	}
	p.idle = slices.Delete(p.idle, 0, n)
}

// close ends all idle goroutines, and each other one after its function.
func (p *goroutinePool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.end(len(p.idle))
	p.unused, p.armed = 0, false // a timer that has expired finds nothing to do
	if p.timer != nil {
		p.timer.Stop()
	}
}
