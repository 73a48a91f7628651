package httpxds

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"sync"
)

// An upload is the body of a request, for its time limits. They count while the request waits for a connection or for its next
// attempt, and start again when the whole body was read. A nil upload has no time limits.
type upload struct {
	route *timeLimit // nil: none

	mu      sync.Mutex
	attempt *timeLimit // the limit of the attempt that sends the body; nil: none
	held    bool       // an attempt sends the body
	ended   bool       // the whole body was read
}

// try sets the time limit of an attempt to send a request.
func (u *upload) try(l *timeLimit, r *http.Request) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !isSentAtOnce(r) {
		u.attempt = l
	}
}

// traced returns the context of a request whose body is in memory. Such a body has no wrapper, so that net/http sends it the
// faster way.
func (u *upload) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: u.begin,
		WroteRequest: func(i httptrace.WroteRequestInfo) {
			if i.Err == nil {
				u.end()
			}
		},
	})
}

// begin holds the time limits. It is called before the first read of an attempt.
func (u *upload) begin() { u.change(false) }

// end starts the time limits again. It is called after the last read, and has an effect once.
func (u *upload) end() { u.change(true) }

// rest starts the time limit of the route again if an attempt that held it has failed. The next attempt holds it again.
func (u *upload) rest() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.held && u.route != nil {
		u.route.again()
	}
	u.held = false
}

// forget ends the effect on the time limits, which have ended.
func (u *upload) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.route, u.attempt = nil, nil
}

func (u *upload) change(end bool) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended {
		return
	}
	u.held, u.ended = !end, end
	for _, l := range [...]*timeLimit{u.route, u.attempt} {
		switch {
		case l == nil:
		case end:
			l.again()
		default:
			l.hold()
		}
	}
}
