package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// progress compares the acknowledged transactions with those that readers have.
type progress struct {
	mu           sync.Mutex
	acknowledged uint32
	last         time.Time // of the last acknowledgement
	pause        time.Duration
	readers      []*follower
	err          error
	next         chan struct{} // closed at the next step
	acks         int
	back         bool // a backup is being restored: readers may go back
}

// A follower is a reader.
type follower struct {
	name    string
	has     uint32
	pending []ack
	lag     time.Duration // the longest, since the last reset
}

// An ack is an acknowledgement that a reader has not seen yet.
type ack struct {
	n  uint32
	at time.Time
}

func newProgress(readers ...string) *progress {
	p := &progress{next: make(chan struct{})}
	for _, name := range readers {
		p.readers = append(p.readers, &follower{name: name})
	}
	return p
}

// step announces a change. The mutex is held.
func (p *progress) step() {
	close(p.next)
	p.next = make(chan struct{})
}

// ack notes an acknowledged transaction.
func (p *progress) ack(n uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if !p.last.IsZero() {
		p.pause = max(p.pause, now.Sub(p.last))
	}
	p.last, p.acknowledged = now, n
	p.acks++
	for _, r := range p.readers {
		if r.has < n {
			r.pending = append(r.pending, ack{n, now})
		}
	}
	p.step()
}

// read notes that a reader has a transaction.
func (p *progress) read(i int, n uint32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.readers[i]
	if p.back {
		if r.has = n; n == p.acknowledged && len(r.pending) > 0 {
			r.lag, r.pending = max(r.lag, time.Since(r.pending[0].at)), nil
		}
		p.step()
		return
	}
	if n < r.has && p.err == nil {
		p.err = fmt.Errorf("%s goes back from transaction %d to %d", r.name, r.has, n)
	}
	r.has = n
	for len(r.pending) > 0 && r.pending[0].n <= n {
		r.lag = max(r.lag, time.Since(r.pending[0].at))
		r.pending = r.pending[1:]
	}
	p.step()
}

// restoring notes that a backup is being restored.
func (p *progress) restoring() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.back = true
	for _, r := range p.readers {
		r.pending = nil
	}
}

// restored waits until all readers have exactly the transaction that the restored store had at a time.
func (p *progress) restored(ctx context.Context, n uint32, at time.Time) error {
	p.mu.Lock()
	p.acknowledged = n
	for _, r := range p.readers {
		if r.has != n {
			r.pending = []ack{{n, at}}
		}
	}
	p.mu.Unlock()
	err := p.until(ctx, "reader with exactly what the restored store has", func() bool {
		for _, r := range p.readers {
			if r.has != n {
				return false
			}
		}
		return true
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.back = false
	return err
}

// fail notes an error of a reader.
func (p *progress) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
	p.step()
}

// limit bounds every wait.
const limit = 2 * time.Minute

// until waits until a condition holds. It is called with the mutex held.
func (p *progress) until(ctx context.Context, what string, condition func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		p.mu.Lock()
		ok, err, next := condition(), p.err, p.next
		text := fmt.Sprintf("acknowledged %d, %s has %d, %s has %d", p.acknowledged,
			p.readers[ofStore].name, p.readers[ofStore].has, p.readers[ofDaemon].name, p.readers[ofDaemon].has)
		p.mu.Unlock()
		switch {
		case err != nil:
			return err
		case ok:
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return fmt.Errorf("no %s after %v: %s", what, limit, text)
		}
	}
}

// more waits for a number of further acknowledgements.
func (p *progress) more(ctx context.Context, n int) error {
	p.mu.Lock()
	want := p.acks + n
	p.mu.Unlock()
	return p.until(ctx, "further acknowledgement", func() bool { return p.acks >= want })
}

// caughtUp waits until all readers have the transactions that are acknowledged now.
func (p *progress) caughtUp(ctx context.Context) error {
	p.mu.Lock()
	want := p.acknowledged
	p.mu.Unlock()
	return p.until(ctx, "reader with everything that is acknowledged", func() bool {
		for _, r := range p.readers {
			if r.has < want {
				return false
			}
		}
		return true
	})
}

// gaps returns the longest pause of the publisher and the longest lags of the readers, and forgets them.
func (p *progress) gaps() []time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := append(make([]time.Duration, 0, 1+len(p.readers)), p.pause)
	p.pause = 0
	for _, r := range p.readers {
		list = append(list, r.lag)
		r.lag = 0
	}
	return list
}
