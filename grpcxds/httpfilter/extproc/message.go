package extproc

import (
	"fmt"

	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
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

// decode returns a request of the processor, in the type that the program sends. If the program has sent none, a message of
// unknown fields has the same bytes.
func (s *clientStream) decode(raw []byte) (proto.Message, error) {
	s.mu.Lock()
	t := s.requests
	s.mu.Unlock()
	var m proto.Message = new(emptypb.Empty)
	if t != nil {
		m = t.New().Interface()
	}
	return m, proto.UnmarshalOptions{AllowPartial: true}.Unmarshal(raw, m)
}
