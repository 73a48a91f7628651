package client

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/resource"
	"github.com/xdsforge/xdsforge/framework/transport"
)

// A dialer counts the connections that it makes, which carry nothing.
type dialer struct{ dialed, open atomic.Int64 }

type idleConn struct {
	*dialer
	closed atomic.Bool
}

func (d *dialer) Dial(*bootstrap.Server) (transport.Conn, error) {
	d.dialed.Add(1)
	d.open.Add(1)
	return &idleConn{dialer: d}, nil
}

func (*idleConn) OpenStream(context.Context, string) (transport.Stream, error) {
	return nil, errors.ErrUnsupported
}

func (c *idleConn) Close() error {
	if c.closed.Swap(true) {
		return errors.New("closed twice")
	}
	c.open.Add(-1)
	return nil
}

// TestPoolClosesConnectionsThatNobodyUses follows one connection: used, unused, used again within the idle
// time, and unused for longer.
func TestPoolClosesConnectionsThatNobodyUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := func(wait time.Duration, dialed, open int64, d *dialer) {
			t.Helper()
			<-time.NewTimer(wait).C
			synctest.Wait()
			if made, now := d.dialed.Load(), d.open.Load(); made != dialed || now != open {
				t.Errorf("%d connections made, %d open; want %d and %d", made, now, dialed, open)
			}
		}
		server := func() *bootstrap.Server { // another one, with the same key
			s, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: "u", ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		d := new(dialer)
		p := NewPool(d)
		p.idle = time.Minute
		acquire := func() giveBack {
			t.Helper()
			_, release, err := p.acquire(server())
			if err != nil {
				t.Fatal(err)
			}
			return release
		}
		one, two := acquire(), acquire()
		one(true)
		one(true) // a second release by the same user means nothing
		after(time.Hour, 1, 1, d)
		two(true)
		after(time.Minute-1, 1, 1, d)
		again := acquire()
		after(time.Hour, 1, 1, d)
		again(true)
		after(30*time.Second, 1, 1, d)
		acquire()(true) // the idle time begins anew
		after(time.Minute-1, 1, 1, d)
		after(1, 1, 0, d)

		acquire()(false) // not worth the idle time
		after(0, 2, 0, d)
		acquire()(true)
		after(0, 3, 1, d)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		after(time.Hour, 3, 0, d)
		if _, _, err := p.acquire(server()); !errors.Is(err, resource.ErrClosed) {
			t.Errorf("a closed pool gives a connection, or the error %v", err)
		}
	})
}
