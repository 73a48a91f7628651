package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// text is the message of all methods.
type text = wrapperspb.StringValue

const service = "/peer.Service/"

// errWant is the kind of the error of a call with another result than expected.
var errWant = errors.New("another result is expected")

// handler serves the service as peer.js does.
func handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(service+"Unary", connect.NewUnaryHandler(service+"Unary", unary, connect.WithIdempotency(connect.IdempotencyNoSideEffects)))
	mux.Handle(service+"Server", connect.NewServerStreamHandler(service+"Server", func(_ context.Context, r *connect.Request[text], s *connect.ServerStream[text]) error {
		for i := range 3 {
			if err := s.Send(wrapperspb.String(fmt.Sprintf("%s %d", r.Msg.GetValue(), i))); err != nil {
				return err
			}
		}
		return nil
	}))
	mux.Handle(service+"Client", connect.NewClientStreamHandler(service+"Client", func(_ context.Context, s *connect.ClientStream[text]) (*connect.Response[text], error) {
		var parts []string
		for s.Receive() {
			parts = append(parts, s.Msg().GetValue())
		}
		return connect.NewResponse(wrapperspb.String(strings.Join(parts, ","))), s.Err()
	}))
	mux.Handle(service+"Bidi", connect.NewBidiStreamHandler(service+"Bidi", func(_ context.Context, s *connect.BidiStream[text, text]) error {
		for {
			m, err := s.Receive()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := s.Send(wrapperspb.String(m.GetValue() + "!")); err != nil {
				return err
			}
		}
	}))
	return mux
}

// unary has an echo, an error with a detail, and a call without an end.
func unary(ctx context.Context, r *connect.Request[text]) (*connect.Response[text], error) {
	switch r.Msg.GetValue() {
	case "fail":
		err := connect.NewError(connect.CodeNotFound, errors.New("no such thing"))
		err.Meta().Set("X-Reason", "test")
		detail, failed := connect.NewErrorDetail(wrapperspb.String("detail"))
		if failed != nil {
			return nil, failed
		}
		err.AddDetail(detail)
		return nil, err
	case "wait":
		<-ctx.Done()
		return nil, ctx.Err()
	}
	resp := connect.NewResponse(wrapperspb.String(r.HTTPMethod() + " " + r.Msg.GetValue()))
	resp.Header().Set("X-Header", "head")
	resp.Trailer().Set("X-Trailer", "tail")
	return resp, nil
}
