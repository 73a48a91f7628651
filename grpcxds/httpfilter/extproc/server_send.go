package extproc

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

var errHeaderSent = status.Error(codes.Internal, "extproc: the headers of the response were sent already")

// SetHeader implements [grpc.ServerStream].
func (s *serverStream) SetHeader(md metadata.MD) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.headed {
		return errHeaderSent
	}
	s.header = metadata.Join(s.header, md)
	return nil
}

// SetTrailer implements [grpc.ServerStream].
func (s *serverStream) SetTrailer(md metadata.MD) {
	s.mu.Lock()
	s.trailer = metadata.Join(s.trailer, md)
	s.mu.Unlock()
}

// SendHeader implements [grpc.ServerStream].
func (s *serverStream) SendHeader(md metadata.MD) error {
	if err := s.SetHeader(md); err != nil {
		return err
	}
	s.mu.Lock()
	s.explicit = true
	s.mu.Unlock()
	if err := s.head(); err != nil {
		return refused(err)
	}
	if s.processes(s.config.Modes.ResponseMessages) {
		return nil // they are sent before the first message of the processor
	}
	return refused(s.settle())
}

// head offers the headers once. If the processor returns messages, they follow the headers.
func (s *serverStream) head() error {
	s.headOnce.Do(func() {
		s.mu.Lock()
		s.headed, s.received = true, time.Now()
		s.explicit = s.explicit || s.call.ServerStreams
		md := s.header
		s.mu.Unlock()
		if s.config.Modes.ResponseHeaders {
			s.headErr = s.offerHeaders(&s.response, &s.response.headers, s.responseHeaders(md, false))
		}
		if s.processes(s.config.Modes.ResponseMessages) {
			go s.forward()
		}
	})
	return s.headErr
}

// settle sends the headers after the response to them.
func (s *serverStream) settle() error {
	s.settleOnce.Do(func() {
		s.mu.Lock()
		md, since, explicit := s.header, s.received, s.explicit
		s.mu.Unlock()
		if md, s.settleErr = s.await(&s.response.headers, md); s.settleErr != nil {
			return
		}
		s.metrics.record(s.ctx, serverHeaders, since)
		if explicit {
			s.settleErr = s.ServerStream.SendHeader(md)
		} else {
			s.settleErr = s.ServerStream.SetHeader(md) // gRPC sends them with the first message
		}
	})
	return s.settleErr
}

// SendMsg implements [grpc.ServerStream].
func (s *serverStream) SendMsg(m any) error {
	if err := s.head(); err != nil {
		return refused(err)
	}
	processed := s.processes(s.config.Modes.ResponseMessages)
	if !processed {
		if err := s.settle(); err != nil {
			return refused(err)
		}
	}
	if s.config.Modes.ResponseMessages {
		raw, err := encode(m)
		if err != nil {
			return err
		}
		s.mu.Lock()
		if s.response.kind == nil {
			s.response.kind = m.(proto.Message).ProtoReflect().Type()
		}
		s.mu.Unlock()
		sent, err := s.offerMessage(&s.response, body(raw))
		if err != nil {
			return refused(err)
		}
		if processed && sent {
			return nil
		}
	}
	if processed {
		if err := s.awaitForwarded(); err != nil {
			return refused(err)
		}
	}
	return s.ServerStream.SendMsg(m)
}

// awaitForwarded waits until all messages of the processor were sent.
func (s *serverStream) awaitForwarded() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wait(func() bool { return s.forwarded })
}

// forward sends the headers, and then the messages of the processor, until messages pass or the processor has answered to the
// trailers.
func (s *serverStream) forward() {
	defer s.setForwarded()
	if err := s.settle(); err != nil {
		s.fail(err) // unless the call has failed
		return
	}
	first := true
	s.passOn(&s.response, func(m any) error {
		if !first && !s.call.ServerStreams {
			return errMessages
		}
		first = false
		return s.ServerStream.SendMsg(m)
	}, func() bool { return s.passes(&s.response) || s.trailers.answered })
}

// finish offers the trailers after the handler has ended the call with err, and waits for the response to them.
func (s *serverStream) finish(err error) error {
	begun := time.Now()
	s.mu.Lock()
	md, only := s.trailer, !s.headed && len(s.header) == 0 // gRPC sends no headers then
	s.only = only
	s.mu.Unlock()
	r := &s.trailers
	if only {
		r = &s.response.headers // which are the trailers
	} else if e := s.head(); e != nil {
		return e
	}
	var e error
	switch {
	case only && s.config.Modes.ResponseHeaders:
		e = s.offerHeaders(&s.response, r, s.responseHeaders(md, true))
	case !only && s.config.Modes.ResponseTrailers:
		e = s.offerHeaders(&s.response, r, s.responseTrailers(md))
	}
	if e == nil {
		md, e = s.await(r, md)
	}
	if e == nil && !only {
		if e = s.settle(); e == nil && s.processes(s.config.Modes.ResponseMessages) {
			e = s.awaitForwarded()
		}
	}
	if e != nil {
		return e
	}
	event := serverTrailers
	if only {
		event = serverHeaders
	}
	s.metrics.record(s.ctx, event, begun)
	s.ServerStream.SetTrailer(md)
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.replaced {
		return r.err
	}
	return err
}
