package main

import (
	"context"
	"fmt"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_proc/v3" // for prototext
	extprocv3 "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// The channels of -filters that send the headers of both directions to a processor, and wait for its responses: by an interceptor
// of the program, and by the filter ext_proc. Another filter sends messages and trailers, too.
const (
	withProcess  = oursName + ", interceptor that processes headers"
	withExtProc  = oursName + ", filter that processes headers"
	withMessages = oursName + ", filter that processes all"
)

// procFilter is the configuration of the filter.
func procFilter(proc, modes string) string {
	return fmt.Sprintf(`[type.googleapis.com/envoy.extensions.filters.http.ext_proc.v3.ExternalProcessor] {
		grpc_service { google_grpc { target_uri: %q } } processing_mode { %s } }`, proc, modes)
}

// A processing interceptor sends the headers of calls to a processor.
type processing struct {
	extprocv3.ExternalProcessorClient
}

func newProcessing(proc string) (processing, error) {
	cc, err := grpc.NewClient(proc, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return processing{extprocv3.NewExternalProcessorClient(cc)}, err
}

type procStream = extprocv3.ExternalProcessor_ProcessClient

// begin sends the headers of a call.
func (p processing) begin(ctx context.Context) (procStream, error) {
	md, _ := metadata.FromOutgoingContext(ctx)
	s, err := p.Process(metadata.NewOutgoingContext(ctx, metadata.MD{}))
	if err != nil {
		return nil, err
	}
	return s, exchange(s, &extprocv3.ProcessingRequest{
		ProtocolConfig: new(extprocv3.ProtocolConfiguration), FlowControlInit: new(extprocv3.ProcessingRequest_FlowControlInit),
		Request: &extprocv3.ProcessingRequest_RequestHeaders{RequestHeaders: &extprocv3.HttpHeaders{Headers: headerMap(md)}},
	})
}

// end sends the headers of the response.
func end(s procStream, md metadata.MD) error {
	err := exchange(s, &extprocv3.ProcessingRequest{
		Request: &extprocv3.ProcessingRequest_ResponseHeaders{ResponseHeaders: &extprocv3.HttpHeaders{Headers: headerMap(md)}},
	})
	if err != nil {
		return err
	}
	return s.CloseSend()
}

func exchange(s procStream, m *extprocv3.ProcessingRequest) error {
	if err := s.Send(m); err != nil {
		return err
	}
	_, err := s.Recv()
	return err
}

func headerMap(md metadata.MD) *corev3.HeaderMap {
	out := new(corev3.HeaderMap)
	for name, values := range md {
		for _, value := range values {
			out.Headers = append(out.Headers, &corev3.HeaderValue{Key: name, RawValue: []byte(value)})
		}
	}
	return out
}

func (p processing) unary(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := p.begin(ctx)
	if err != nil {
		return err
	}
	var header metadata.MD
	if err := invoke(ctx, method, req, reply, cc, append(opts, grpc.Header(&header))...); err != nil {
		return err
	}
	return end(s, header)
}

func (p processing) stream(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	s, err := p.begin(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	rest, err := open(ctx, desc, cc, method, opts...)
	if err != nil {
		cancel()
		return nil, err
	}
	return &processedStream{rest, s, cancel, false}, nil
}

// A processedStream processes the headers of the response before the first message.
type processedStream struct {
	grpc.ClientStream
	proc   procStream
	cancel func()
	headed bool
}

// RecvMsg implements [grpc.ClientStream].
func (s *processedStream) RecvMsg(m any) error {
	if !s.headed {
		s.headed = true
		md, err := s.Header()
		if err == nil {
			err = end(s.proc, md)
		}
		if err != nil {
			return err
		}
	}
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		s.cancel()
	}
	return err
}
