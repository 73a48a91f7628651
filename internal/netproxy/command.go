package netproxy

import (
	"context"
	"math"
	"time"
)

// Disconnect resets every connection there is.
func (p *Proxy) Disconnect() {
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
	return p.until(ctx, func() time.Duration {
		if fits(p.accepted, len(p.links)) {
			return 0
		}
		return forever
	})
}

const forever = time.Duration(math.MaxInt64)

// until waits until left, which it calls with the mutex held, returns no remaining time. It looks
// again after that time and after each change. It is false when ctx ends first.
func (p *Proxy) until(ctx context.Context, left func() time.Duration) bool {
	for {
		p.mu.Lock()
		wait, changed := left(), p.changed
		p.mu.Unlock()
		if wait <= 0 {
			return true
		}
		timer := time.NewTimer(wait)
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
	return p.until(ctx, func() time.Duration {
		if p.stalled[d] {
			return forever
		}
		return 0
	}) && ctx.Err() == nil
}

// wait waits until bytes that were read at a time are due. It is false when ctx
// ends first.
func (p *Proxy) wait(ctx context.Context, d Direction, read time.Time) bool {
	return p.until(ctx, func() time.Duration { return time.Until(read.Add(p.delay[d])) }) && ctx.Err() == nil
}
