package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// A protocol is a protocol of calls, as peer.js names it.
type protocol string

// The protocols.
const (
	Connect protocol = "connect"
	GRPC    protocol = "grpc"
	GRPCWeb protocol = "grpcweb"
)

// A caller makes the calls of a row.
type caller struct {
	client  *http.Client
	row     row
	options []connect.ClientOption
}

// calls makes each kind of calls to a server, through a Transport. It returns their number.
func (w *world) calls(ctx context.Context, addr string, r row) (int, error) {
	t, err := w.transport(addr, r.kind) //nolint:contextcheck // NewTransport has no context
	if err != nil {
		return 0, err
	}
	defer t.Close()
	c := &caller{client: &http.Client{Transport: t}, row: r}
	switch r.protocol {
	case GRPC:
		c.options = append(c.options, connect.WithGRPC())
	case GRPCWeb:
		c.options = append(c.options, connect.WithGRPCWeb())
	default:
	}
	kinds := []func(context.Context) error{c.echo, c.fails, c.deadline, c.server, c.clientStream}
	if r.protocol == Connect {
		kinds = append(kinds, c.get)
	}
	if r.version == "2" {
		kinds = append(kinds, c.bidi)
	}
	for _, call := range kinds {
		if err := call(ctx); err != nil {
			return 0, err
		}
	}
	return len(kinds), nil
}

func (c *caller) method(name string, more ...connect.ClientOption) *connect.Client[text, text] {
	return connect.NewClient[text, text](c.client, "http://svc"+service+name, append(more, c.options...)...)
}

func want(what, got, want string) error {
	if got != want {
		return fmt.Errorf("%s = %q; want %q: %w", what, got, want, errWant)
	}
	return nil
}

func (c *caller) echo(ctx context.Context) error {
	resp, err := c.method("Unary").CallUnary(ctx, connect.NewRequest(wrapperspb.String("hello")))
	if err != nil {
		return err
	}
	return errors.Join(want("unary", resp.Msg.GetValue(), "POST hello"),
		want("header", resp.Header().Get("X-Header"), "head"), want("trailer", resp.Trailer().Get("X-Trailer"), "tail"))
}

func (c *caller) get(ctx context.Context) error {
	resp, err := c.method("Unary", connect.WithHTTPGet(), connect.WithIdempotency(connect.IdempotencyNoSideEffects)).CallUnary(ctx, connect.NewRequest(wrapperspb.String("hello")))
	if err != nil {
		return err
	}
	return want("GET", resp.Msg.GetValue(), "GET hello")
}

func (c *caller) fails(ctx context.Context) error {
	_, err := c.method("Unary").CallUnary(ctx, connect.NewRequest(wrapperspb.String("fail")))
	var failed *connect.Error
	if !errors.As(err, &failed) || failed.Code() != connect.CodeNotFound || len(failed.Details()) != 1 {
		return fmt.Errorf("the call that fails has the error %w; want %w, with a detail", err, connect.NewError(connect.CodeNotFound, errWant))
	}
	detail, err := failed.Details()[0].Value()
	if err != nil {
		return err
	}
	return errors.Join(want("error", failed.Message(), "no such thing"), want("metadata", failed.Meta().Get("X-Reason"), "test"),
		want("detail", detail.(*text).GetValue(), "detail")) //nolint:forcetypeassert // as the service has it
}

func (c *caller) deadline(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	_, err := c.method("Unary").CallUnary(ctx, connect.NewRequest(wrapperspb.String("wait")))
	return want("deadline", connect.CodeOf(err).String(), connect.CodeDeadlineExceeded.String())
}

func (c *caller) server(ctx context.Context) error {
	s, err := c.method("Server").CallServerStream(ctx, connect.NewRequest(wrapperspb.String("x")))
	if err != nil {
		return err
	}
	var received []string
	for s.Receive() {
		received = append(received, s.Msg().GetValue())
	}
	return errors.Join(s.Err(), s.Close(), want("server stream", strings.Join(received, ","), "x 0,x 1,x 2"))
}

func (c *caller) clientStream(ctx context.Context) error {
	s := c.method("Client").CallClientStream(ctx)
	for _, value := range []string{"a", "b", "c"} {
		if err := s.Send(wrapperspb.String(value)); err != nil {
			return err
		}
	}
	resp, err := s.CloseAndReceive()
	if err != nil {
		return err
	}
	return want("client stream", resp.Msg.GetValue(), "a,b,c")
}

// bidi sends each message after the response to the one before.
func (c *caller) bidi(ctx context.Context) error {
	s := c.method("Bidi").CallBidiStream(ctx)
	for _, value := range []string{"a", "b", "c"} {
		if err := s.Send(wrapperspb.String(value)); err != nil {
			return err
		}
		m, err := s.Receive()
		if err != nil {
			return err
		}
		if err := want("bidi stream", m.GetValue(), value+"!"); err != nil {
			return err
		}
	}
	if err := s.CloseRequest(); err != nil {
		return err
	}
	if _, err := s.Receive(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("the end of a bidi stream is %w; want %w", err, io.EOF)
	}
	return s.CloseResponse()
}
