package extproc

import (
	"errors"
	"io"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/emptypb"
)

// The statuses of calls whose processor sends none or several messages in place of one.
var (
	errRequests  = status.Error(codes.Internal, "extproc: the processor sends two messages of a client that may send one")
	errNoRequest = status.Error(codes.Internal, "extproc: the processor sends no message of a client that must send one")
)

// pump sends the messages of the client to the processor, until the half-close or until messages pass. The processor may half-close
// the call before, which discards further messages.
func (s *serverStream) pump() {
	kind := requestType(s.call.Method)
	for {
		m := kind.New().Interface()
		err := s.ServerStream.RecvMsg(m)
		s.mu.Lock()
		s.pulled = true
		s.cond.Broadcast()
		s.mu.Unlock()
		sent := false
		switch {
		case err == nil:
			var raw []byte
			if raw, err = encode(m); err != nil {
				break
			}
			if sent, err = s.offerMessage(&s.request, body(raw)); err == nil && !sent {
				s.put(&s.request, raw)
			}
		case errors.Is(err, io.EOF):
			s.mu.Lock()
			s.closing = time.Now()
			s.mu.Unlock()
			if _, e := s.offerMessage(&s.request, halfClosed()); e != nil {
				err = e
			}
		}
		if err != nil || !sent {
			s.mu.Lock()
			s.incoming, s.pumped = err, true
			s.cond.Broadcast()
			s.mu.Unlock()
			return
		}
	}
}

// requestType returns the type of a method's requests. If the program does not have it, a message of unknown fields has the same
// bytes. Earlier filters see messages of this type.
func requestType(method string) protoreflect.MessageType {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	if d, err := protoregistry.GlobalFiles.FindDescriptorByName(name); err == nil {
		if m, ok := d.(protoreflect.MethodDescriptor); ok {
			if t, err := protoregistry.GlobalTypes.FindMessageByName(m.Input().FullName()); err == nil {
				return t
			}
		}
	}
	return new(emptypb.Empty).ProtoReflect().Type()
}

// RecvMsg implements [grpc.ServerStream].
func (s *serverStream) RecvMsg(m any) error {
	if !s.processes(s.config.Modes.RequestMessages) {
		return s.receiveDirect(m)
	}
	to, ok := m.(proto.Message)
	if !ok {
		return errNoProto(m)
	}
	got, ok, err := s.takeRequest()
	switch {
	case err != nil:
		return refused(err)
	case !ok:
		return s.receiveDirect(m) // messages pass
	}
	if err := s.awaitPulled(); err != nil {
		return refused(err)
	}
	if err := proto.Unmarshal(got.body, to); err != nil {
		return refused(s.invalid(&s.request, err))
	}
	if s.call.ClientStreams {
		return nil
	}
	switch _, more, err := s.takeRequest(); {
	case more:
		return errRequests
	case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errNoRequest):
		return refused(err)
	}
	return nil
}

// awaitPulled waits until the pump has read the request of a unary call, because m of RecvMsg is the message that it reads. The
// processor may send a message before it has received one.
func (s *serverStream) awaitPulled() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wait(func() bool { return s.pulled || s.call.ClientStreams || s.call.ServerStreams })
}

// takeRequest returns the next message of the client. It returns false if messages pass, and io.EOF after the half-close.
func (s *serverStream) takeRequest() (message, bool, error) {
	got, ok, err := s.take(&s.request, s.noRequests)
	if err != nil {
		return got, false, err
	}
	if ok {
		s.consumed(&s.request, len(got.body))
		if !got.none {
			return got, true, nil
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.request.ended || errors.Is(s.incoming, io.EOF):
		s.closeOnce.Do(func() {
			if !s.closing.IsZero() { // else the processor has half-closed the call first
				s.metrics.record(s.ctx, clientHalfClose, s.closing)
			}
		})
		if !s.call.ClientStreams {
			return got, false, errNoRequest
		}
		return got, false, io.EOF
	default:
		return got, false, s.incoming
	}
}

// noRequests reports whether the processor sends no more messages. The caller holds the mutex.
func (s *serverStream) noRequests() bool {
	failed := s.incoming != nil && !errors.Is(s.incoming, io.EOF)
	return s.request.ended || s.pumped && (s.passes(&s.request) || failed)
}

// receiveBelow receives a message, unless the call fails before. A handler may wait for a client that waits for the status.
func (s *serverStream) receiveBelow(m any) error {
	to, ok := m.(proto.Message)
	if !ok || !s.call.ClientStreams { // the message of a unary call is there
		return s.ServerStream.RecvMsg(m)
	}
	if s.ctx.Err() != nil {
		return s.aborted() // a goroutine may still receive
	}
	from := to.ProtoReflect().New()
	done := make(chan error, 1)
	go func() { done <- s.ServerStream.RecvMsg(from.Interface()) }() // ends with the call
	select {
	case err := <-done:
		if err == nil {
			move(to.ProtoReflect(), from)
		}
		return err
	case <-s.ctx.Done():
		return s.aborted()
	}
}

// aborted returns the status of a call whose context is done.
func (s *serverStream) aborted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return refused(s.wait(func() bool { return false }))
}

// move moves the fields of a message into another of its type.
func move(to, from protoreflect.Message) {
	proto.Reset(to.Interface())
	from.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		to.Set(f, v)
		return true
	})
	to.SetUnknown(from.GetUnknown())
}

// receiveDirect receives a message that the processor does not change.
func (s *serverStream) receiveDirect(m any) error {
	err := s.receiveBelow(m)
	if err == nil && s.config.Modes.RequestMessages && s.config.ObservabilityMode {
		raw, e := encode(m)
		if e != nil {
			return e
		}
		if _, e = s.offerMessage(&s.request, body(raw)); e != nil {
			return refused(e)
		}
	}
	if errors.Is(err, io.EOF) || err == nil && !s.call.ClientStreams {
		s.closeOnce.Do(func() {
			if s.config.Modes.RequestMessages && s.config.ObservabilityMode {
				_, _ = s.offerMessage(&s.request, halfClosed()) // the call returns the status
			}
			s.metrics.record(s.ctx, clientHalfClose, time.Now())
		})
	}
	return err
}
