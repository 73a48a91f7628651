package client

import (
	"errors"
	"log/slog"
	"time"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/printable"
)

// A link is the use of the connection to a server by the streams of one kind. It belongs to the loop.
type link struct {
	client  *Client
	server  *bootstrap.Server
	conn    transport.Conn // nil while the link has none
	release giveBack       // of conn
	outage  outage
	store   *storeUse // the link leads to the last known good store, and not to a server
}

// connect acquires the connection from the pool, unless the link has it, and starts a stream on it.
func (k *link) connect(stream func(transport.Conn)) (err error) {
	if k.conn == nil && k.store != nil {
		k.conn, k.release = k.store.open(), k.store.release
	}
	if k.conn == nil {
		if k.conn, k.release, err = k.client.pool.acquire(k.server); err != nil {
			return err
		}
	}
	conn := k.conn
	k.client.wg.Go(func() { stream(conn) })
	return nil
}

// disconnect releases the connection. If keep is true, the pool keeps it for later.
func (k *link) disconnect(keep bool) {
	if k.conn != nil {
		k.release(keep)
		k.conn = nil
	}
}

// log writes a line about the server. It makes all texts and errors printable.
func (k *link) log(level slog.Level, msg string, args ...any) {
	c := k.client
	if !c.logger.Enabled(c.ctx, level) {
		return
	}
	line := []any{"server", k.server.URI(), "node", c.nodeID}
	if c.name != "" {
		line = append(line, "target", printable.Text(c.name, printable.Short))
	}
	for _, arg := range args {
		switch v := arg.(type) {
		case string:
			arg = printable.Text(v, printable.Whole)
		case error:
			arg = printable.Error(v)
		}
		line = append(line, arg)
	}
	c.logger.Log(c.ctx, level, msg, line...)
}

// An outage is a time during which a server is unreachable. The log has one line when it begins or
// its reason changes, and one when it is over. Retries in between do not add lines. Only the loop
// uses an outage.
type outage struct {
	since    time.Time // zero: the server is reachable, or its state is unknown
	attempts int       // failed ones
	err      error     // of the last attempt
}

// failed records a failed attempt, and reports whether to log it as an outage.
func (o *outage) failed(err error, now time.Time) (changed bool) {
	if o.since.IsZero() {
		o.since, changed = now, true
	} else {
		changed = !alike(err, o.err)
	}
	o.attempts++
	o.err = err
	return changed
}

// over ends the outage. It returns the attributes of the log line for the end, or nil if there was
// no outage.
func (o *outage) over(now time.Time) []any {
	if o.since.IsZero() {
		return nil
	}
	attributes := []any{"outage", now.Sub(o.since), "attempts", o.attempts}
	*o = outage{}
	return attributes
}

// alike reports whether two errors are of one kind or have the same text.
func alike(a, b error) bool { return errors.Is(a, b) || a.Error() == b.Error() }
