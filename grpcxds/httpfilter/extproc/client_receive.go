package extproc

import (
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// RecvMsg implements [grpc.ClientStream].
func (s *clientStream) RecvMsg(m any) error {
	rest, err := s.below()
	if err == nil {
		if s.config.Modes.ResponseMessages && !s.config.ObservabilityMode {
			err = s.receiveProcessed(rest, m)
		} else {
			err = s.receiveDirect(rest, m)
		}
	}
	if err == nil {
		return nil
	}
	return s.statusOf(err)
}

// receiveDirect receives a message that the processor does not change.
func (s *clientStream) receiveDirect(rest grpc.ClientStream, m any) error {
	if !s.unary() {
		if err := s.headers(rest, nil); err != nil {
			return err
		}
	}
	err := s.receiveBelow(rest, m)
	if s.unary() {
		if e := s.headers(rest, err); e != nil {
			return e
		}
	}
	if err == nil && s.config.Modes.ResponseMessages && s.config.ObservabilityMode {
		raw, e := encode(m)
		if e != nil {
			return e
		}
		if _, e = s.offerMessage(&s.response, body(raw)); e != nil {
			return e
		}
	}
	switch {
	case err == nil && s.call.ServerStreams:
		return nil
	case err == nil:
		if end := s.finishResponse(rest, io.EOF); !errors.Is(end, io.EOF) {
			return end
		}
		return nil
	}
	return s.finishResponse(rest, err)
}

// receiveProcessed receives a message of the processor.
func (s *clientStream) receiveProcessed(rest grpc.ClientStream, m any) error {
	to, ok := m.(proto.Message)
	if !ok {
		return errNoProto(m)
	}
	s.pumpOnce.Do(func() { go s.pump(rest, to.ProtoReflect().New().Interface()) })
	got, ok, err := s.take(&s.response, func() bool { return s.pumped })
	switch {
	case err != nil:
		return err
	case ok:
		s.consumed(&s.response, len(got.body))
		if err := s.settleHeaders(); err != nil {
			return err
		}
		if err := proto.Unmarshal(got.body, to); err != nil {
			return s.invalid(&s.response, err)
		}
		if s.call.ServerStreams {
			return nil
		}
		_, more, err := s.take(&s.response, func() bool { return s.pumped })
		if err == nil && more {
			err = errMessages
		}
		if err == nil {
			err = s.result()
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		return err
	}
	if err := s.result(); err != nil {
		return err
	}
	return s.receiveDirect(rest, m) // events pass
}

// result returns the result that the pump has found, or nil.
func (s *clientStream) result() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.final
}

// pump sends the messages of the server to the processor, until the end or until events pass. in is of their type.
func (s *clientStream) pump(rest grpc.ClientStream, in proto.Message) {
	var err error
	if !s.unary() {
		err = s.offerResponseHeaders(rest, nil)
	}
	for err == nil {
		m := in.ProtoReflect().New().Interface()
		end := s.receiveBelow(rest, m)
		if s.unary() {
			err = s.offerResponseHeaders(rest, end)
		}
		sent := false
		if err == nil && end == nil {
			var raw []byte
			if raw, err = encode(m); err == nil {
				if sent, err = s.offerMessage(&s.response, body(raw)); err == nil && !sent {
					s.put(&s.response, raw)
				}
			}
			if !s.call.ServerStreams {
				end = io.EOF
			}
		}
		if err == nil && end != nil {
			err = s.finishResponse(rest, end)
		}
		if err == nil && !sent {
			break
		}
	}
	s.mu.Lock()
	s.final, s.pumped = err, true
	s.cond.Broadcast()
	s.mu.Unlock()
}

// receiveBelow receives a message of the rest of the call, or the status that ended it without headers.
func (s *clientStream) receiveBelow(rest grpc.ClientStream, m any) error {
	s.mu.Lock()
	early := s.early
	s.mu.Unlock()
	if early != nil {
		return early
	}
	return rest.RecvMsg(m)
}

// headers offers the headers of the response, and waits for the response to them. The server has ended the call with err, unless
// it is nil.
func (s *clientStream) headers(rest grpc.ClientStream, err error) error {
	if err := s.offerResponseHeaders(rest, err); err != nil {
		return err
	}
	return s.settleHeaders()
}

// offerResponseHeaders reads the headers of the response, and offers them once.
func (s *clientStream) offerResponseHeaders(rest grpc.ClientStream, err error) (failure error) {
	s.headerOnce.Do(func() {
		md, _ := rest.Header() // without headers, RecvMsg returns the status
		only := md == nil && (err != nil || !s.unary())
		if only {
			if err == nil {
				err = rest.RecvMsg(new(emptypb.Empty))
			}
			if err == nil {
				err = errHeaders
			}
			md = rest.Trailer()
		}
		s.mu.Lock()
		s.only, s.early, s.received, s.head = only, err, time.Now(), md
		s.mu.Unlock()
		if s.config.Modes.ResponseHeaders {
			failure = s.offerHeaders(&s.response, &s.response.headers, s.responseHeaders(md, only))
		}
	})
	return failure
}

// settleHeaders waits for the response to the headers.
func (s *clientStream) settleHeaders() error {
	s.mu.Lock()
	head, since, done := s.head, s.received, s.settled
	s.mu.Unlock()
	if done {
		return nil
	}
	md, err := s.await(&s.response.headers, head)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settled {
		return nil
	}
	s.settled = true
	if s.only {
		s.trailer = md
	} else {
		s.header = md
	}
	s.metrics.record(s.ctx, serverHeaders, since)
	return nil
}

var errHeaders = status.Error(codes.Internal, "extproc: the rest of the call has a message but no headers")

// finishResponse offers the trailers, and waits for the response to them. The result is the status of the call.
func (s *clientStream) finishResponse(rest grpc.ClientStream, err error) error {
	r := &s.trailers
	if s.only {
		r = &s.response.headers // which are the trailers
	} else {
		begun, md := time.Now(), rest.Trailer()
		if s.config.Modes.ResponseTrailers {
			if e := s.offerHeaders(&s.response, r, s.responseTrailers(md)); e != nil {
				return e
			}
		}
		changed, e := s.await(r, md)
		if e != nil {
			return e
		}
		s.metrics.record(s.ctx, serverTrailers, begun)
		s.mu.Lock()
		s.trailer = changed
		s.mu.Unlock()
	}
	if e := s.settleHeaders(); e != nil {
		return e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !r.replaced:
		return err
	case r.err == nil:
		return io.EOF
	}
	return r.err
}

// Header implements [grpc.ClientStream].
func (s *clientStream) Header() (metadata.MD, error) {
	s.mu.Lock()
	settled := s.settled
	s.mu.Unlock()
	if !s.unary() && !settled {
		rest, err := s.below()
		if err == nil {
			err = s.headers(rest, nil)
		}
		if err != nil {
			return nil, s.statusOf(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.header, nil
}

// Trailer implements [grpc.ClientStream].
func (s *clientStream) Trailer() metadata.MD {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trailer
}
