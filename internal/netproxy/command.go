package netproxy

import (
	"context"
	"time"
)

// Cut resets every connection there is.
func (p *Proxy) Cut() {
	for _, l := range p.current() {
		l.cut()
	}
}

// HalfClose half-closes every current connection in a direction: the receiving end sees the
// end of the stream. Sending more in this direction breaks the connection.
func (p *Proxy) HalfClose(d Direction) {
	for _, l := range p.current() {
		l.finish(d)
	}
}

func (p *Proxy) current() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := make([]*link, 0, len(p.links))
	for l := range p.links {
		links = append(links, l)
	}
	return links
}

// Stall stops forwarding in a direction. The proxy neither reads nor writes, so the sender
// blocks once the buffers between are full. Bytes that were read before may still be
// forwarded.
func (p *Proxy) Stall(d Direction) { p.command(func() { p.stalled[d] = true }) }

// Resume ends Stall.
func (p *Proxy) Resume(d Direction) { p.command(func() { p.stalled[d] = false }) }

// Delay delays bytes of a direction. Zero means no delay.
func (p *Proxy) Delay(d Direction, by time.Duration) { p.command(func() { p.delay[d] = by }) }

// Refuse resets new connections until Accept. Current connections stay open.
func (p *Proxy) Refuse() { p.command(func() { p.refusing = true }) }

// Accept ends Refuse.
func (p *Proxy) Accept() { p.command(func() { p.refusing = false }) }

func (p *Proxy) command(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	p.change()
}

// change wakes those who wait for a change. The mutex is held.
func (p *Proxy) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// Connections is how many connections were accepted so far, and how many there are
// now.
func (p *Proxy) Connections() (accepted, now int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted, len(p.links)
}

// Await waits until the counts of Connections fit. It is false when ctx ends first.
func (p *Proxy) Await(ctx context.Context, fits func(accepted, now int) bool) bool {
	for {
		p.mu.Lock()
		ok, changed := fits(p.accepted, len(p.links)), p.changed
		p.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// Bytes is how many bytes were handed on in a direction so far.
func (p *Proxy) Bytes(d Direction) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes[d]
}

func (p *Proxy) count(d Direction, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes[d] += int64(n)
}

// pass waits while a direction is stalled. It is false when ctx ends first.
func (p *Proxy) pass(ctx context.Context, d Direction) bool {
	for {
		p.mu.Lock()
		stalled, changed := p.stalled[d], p.changed
		p.mu.Unlock()
		if !stalled {
			return ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// wait waits until bytes that were read at a time are due. It is false when ctx
// ends first.
func (p *Proxy) wait(ctx context.Context, d Direction, read time.Time) bool {
	for {
		p.mu.Lock()
		left, changed := time.Until(read.Add(p.delay[d])), p.changed
		p.mu.Unlock()
		if left <= 0 {
			return ctx.Err() == nil
		}
		timer := time.NewTimer(left)
		select {
		case <-timer.C:
		case <-changed:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return false
		}
	}
}
