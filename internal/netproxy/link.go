package netproxy

import (
	"context"
	"net"
	"sync"
	"time"
)

// A link is one connection through the proxy: two sockets, and a pipe for each
// direction.
type link struct {
	proxy  *Proxy
	ends   [2]net.Conn     // by direction: the one that is read
	ctx    context.Context //nolint:containedctx // the connection's
	cancel context.CancelFunc
	once   [2]sync.Once // half-closes
}

func newLink(p *Proxy, client, server net.Conn) *link {
	l := &link{proxy: p, ends: [2]net.Conn{Up: client, Down: server}}
	l.ctx, l.cancel = context.WithCancel(p.ctx)
	return l
}

func (l *link) run() {
	var wg sync.WaitGroup
	for _, d := range []Direction{Up, Down} {
		wg.Go(func() { l.forward(d) })
	}
	wg.Wait()
	l.cut()
}

// cut ends both directions.
func (l *link) cut() {
	l.cancel()
	for _, c := range l.ends {
		reset(c)
	}
}

// finish tells the receiving end of a direction that there is no more to come.
func (l *link) finish(d Direction) {
	l.once[d].Do(func() {
		if t, ok := l.ends[1-d].(*net.TCPConn); ok {
			_ = t.CloseWrite() // it is closed already, at worst
		}
	})
}

// A chunk is bytes that are on their way, and when they were read.
type chunk struct {
	data []byte
	read time.Time
}

// window is how many chunks are on their way at most: with more, the proxy does
// not read on.
const window = 16

// forward copies one direction. Reading and writing are apart, so that a delay does
// not make the line narrower than the window.
func (l *link) forward(d Direction) {
	chunks := make(chan chunk, window)
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.write(d, chunks)
	}()
	l.read(d, chunks)
	close(chunks)
	<-done
}

func (l *link) read(d Direction, chunks chan<- chunk) {
	for {
		if !l.proxy.pass(l.ctx, d) {
			return
		}
		buffer := make([]byte, 32<<10)
		n, err := l.ends[d].Read(buffer)
		if n > 0 {
			select {
			case chunks <- chunk{buffer[:n], time.Now()}:
			case <-l.ctx.Done():
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// write hands chunks on when it is time. A direction whose reading end has ended is
// half-closed; one that cannot be written to breaks the connection.
func (l *link) write(d Direction, chunks <-chan chunk) {
	for c := range chunks {
		if !l.proxy.wait(l.ctx, d, c.read) || !l.proxy.pass(l.ctx, d) {
			l.cut()
			continue // the reader ends, too
		}
		l.proxy.count(d, len(c.data)) // before the other end can have read it
		n, err := l.ends[1-d].Write(c.data)
		l.proxy.count(d, n-len(c.data))
		if err != nil {
			l.cut()
		}
	}
	l.finish(d)
}
