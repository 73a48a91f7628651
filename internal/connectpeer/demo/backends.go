package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// text is the message of Connect calls.
type text = wrapperspb.StringValue

// greet is the path of the Connect method.
const greet = "/shop.Greeter/Greet"

// A backend is a server that a control plane does not configure.
type backend struct {
	name     string
	addr     string
	server   *http.Server
	requests atomic.Int64
	done     chan struct{}
}

// startBackend starts a backend with a plain handler and a handler of Connect.
func startBackend(ctx context.Context, name string) (*backend, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &backend{name: name, addr: lis.Addr().String(), done: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("/", b.plain)
	mux.Handle(greet, connect.NewUnaryHandler(greet, b.greet, connect.WithIdempotency(connect.IdempotencyNoSideEffects)))
	b.server = &http.Server{Handler: mux, Protocols: new(http.Protocols)} //nolint:gosec // only this program connects
	b.server.Protocols.SetHTTP1(true)
	b.server.Protocols.SetUnencryptedHTTP2(true)
	go func() {
		defer close(b.done)
		_ = b.server.Serve(lis) // it ends with stop
	}()
	return b, nil
}

// plain responds with the backend's name and the request.
func (b *backend) plain(w http.ResponseWriter, r *http.Request) {
	b.requests.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = fmt.Fprintf(w, "%s: %s %s %s", b.name, r.Method, r.URL.Path, body) //nolint:gosec // no browser reads it
}

// greet fails with the first attempt of each two.
func (b *backend) greet(_ context.Context, r *connect.Request[text]) (*connect.Response[text], error) {
	if b.requests.Add(1)%2 == 1 {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("busy"))
	}
	return connect.NewResponse(wrapperspb.String("Hello, " + r.Msg.GetValue() + "!")), nil
}

// stop closes the backend with its connections.
func (b *backend) stop() {
	_ = b.server.Close()
	<-b.done
}
