package extproc

import (
	"errors"
	"fmt"
	"io"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/xdsforge/xdsforge/internal/printable"
)

type messageEvent = extprocv3.HttpBody

// body returns the event of a message.
func body(raw []byte) *messageEvent { return &extprocv3.HttpBody{Body: raw} }

// encode returns the bytes of a message.
func encode(m any) ([]byte, error) {
	p, ok := m.(proto.Message)
	if !ok {
		return nil, errNoProto(m)
	}
	raw, err := proto.MarshalOptions{AllowPartial: true}.Marshal(p)
	if err != nil {
		return nil, status.Error(codes.Internal, "extproc: encoding a message: "+err.Error())
	}
	return raw, nil
}

func errNoProto(m any) error {
	return status.Error(codes.Internal, fmt.Sprintf("extproc: the message is a %T; must be a proto.Message", m))
}

// decode returns a message of the processor, in the type that the program uses. If the type is not known, a message of unknown
// fields has the same bytes.
func (x *exchange) decode(d *direction, raw []byte) (proto.Message, error) {
	x.mu.Lock()
	t := d.kind
	x.mu.Unlock()
	var m proto.Message = new(emptypb.Empty)
	if t != nil {
		m = t.New().Interface()
	}
	return m, proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(raw, m)
}

// passOn passes the messages of the processor on by send, until there are none and stop reports true. It reports whether the
// half-close follows.
func (x *exchange) passOn(d *direction, send func(any) error, stop func() bool) (end bool) {
	lost := false // the receiver takes no more messages
	for {
		m, ok, err := x.take(d, stop)
		if err != nil {
			return false
		}
		if !ok {
			return d == &x.request && x.keptEnd()
		}
		if !m.none && !lost {
			out, err := x.decode(d, m.body)
			if err != nil {
				_ = x.invalid(d, err)
				return false
			}
			if err := send(out); err != nil {
				lost = true
				if !errors.Is(err, io.EOF) { // else the call returns the status
					x.fail(err)
				}
			}
		}
		x.consumed(d, len(m.body))
		if m.end {
			return true
		}
	}
}

// keptEnd reports whether the processor has not returned the half-close. The filter passes it on.
func (x *exchange) keptEnd() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.request.finished && !x.request.ended
}

// invalid fails the call for a message of the processor that cannot be decoded.
func (x *exchange) invalid(d *direction, err error) error {
	field := "request_body"
	if d == &x.response {
		field = "response_body"
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failLocked(status.Error(codes.Internal, fmt.Sprintf("extproc: %s.response.body_mutation.streamed_response.body: %v", field, printable.Error(err))))
	return x.wait(func() bool { return true })
}

// passes reports whether the messages of a direction pass the filter. The caller holds the mutex.
func (x *exchange) passes(d *direction) bool { return x.phase == passing || d.drain == drained }

// setForwarded marks all messages of the processor as passed on.
func (x *exchange) setForwarded() {
	x.mu.Lock()
	x.forwarded = true
	x.cond.Broadcast()
	x.mu.Unlock()
}
