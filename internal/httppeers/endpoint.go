package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// An endpoint is a server that can die and come back at its address.
type endpoint struct {
	addr string

	mu     sync.Mutex
	server *http.Server
	served chan struct{}
}

func newEndpoint(ctx context.Context) (*endpoint, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &endpoint{addr: l.Addr().String()}
	e.serve(l)
	return e, nil
}

func (e *endpoint) serve(l net.Listener) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.server, e.served = &http.Server{Handler: e, ErrorLog: silent}, make(chan struct{}) //nolint:gosec // only proxies of this program connect
	server, served := e.server, e.served
	go func() {
		defer close(served)
		_ = server.Serve(l) // it ends with die
	}()
}

// die closes the endpoint with its connections.
func (e *endpoint) die() {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.server.Close() // it has no further use
	<-e.served
}

// restart lets the endpoint come back after a while.
func (e *endpoint) restart(ctx context.Context, after time.Duration) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	always := context.WithoutCancel(ctx)
	_ = until(always, func() bool { // its port may be in use for a moment
		l, err := (&net.ListenConfig{}).Listen(always, "tcp", e.addr)
		if err == nil {
			e.serve(l)
		}
		return err == nil
	})
}

var _ http.Handler = (*endpoint)(nil)

// ServeHTTP implements [http.Handler]. The path chooses the behavior.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/early": // the body is unread
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, "no") // the client reports errors
	case "/close":
		w.Header().Set("Connection", "close")
		echo(w, r)
	case "/reset":
		panic(http.ErrAbortHandler)
	case "/upgrade":
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		answerUpgrade(c, rw)
	default:
		echo(w, r)
	}
}

// answerUpgrade sends the bytes of the client back when the client has ended its direction.
func answerUpgrade(c io.Writer, rw *bufio.ReadWriter) {
	_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n") // Flush returns the error
	if rw.Flush() != nil {
		return
	}
	all, err := io.ReadAll(rw)
	if err == nil {
		_, _ = c.Write(all) // the client reports errors
	}
}
