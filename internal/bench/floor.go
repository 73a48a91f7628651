package main

import (
	"context"
	"slices"
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	resourcev3 "github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// A floor is the cheapest possible client on grpc-go. It receives responses without reading them,
// and acknowledges each with a request that is encoded once.
type floor struct {
	conn    *grpc.ClientConn
	stream  grpc.ClientStream
	acks    [2][]byte // of clusters and of assignments: all but the nonce
	large   int       // bytes: only responses of assignments are larger
	handled func()    // is called after each response
}

// bytesCodec sends a []byte, and receives the length of a message into an *int.
type bytesCodec struct{}

// Name implements encoding.CodecV2.
func (bytesCodec) Name() string { return "proto" }

// Marshal implements encoding.CodecV2.
func (bytesCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

// Unmarshal implements encoding.CodecV2.
func (bytesCodec) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*int) = data.Len()
	return nil
}

func newFloor(ctx context.Context, addr string, n int, handled func()) (*floor, error) {
	conn, err := grpc.NewClient(
		addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(bytesCodec{}), grpc.MaxCallRecvMsgSize(256<<20)),
	)
	if err != nil {
		return nil, err
	}
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, transport.MethodADS)
	if err != nil {
		return nil, err
	}
	node, err := proto.Marshal(&corev3.Node{Id: nodeID})
	if err != nil {
		return nil, err
	}
	f := &floor{conn: conn, stream: stream, large: 150 * n, handled: handled}
	for i, t := range []struct {
		url  string
		name func(int) string
	}{{resourcev3.ClusterType, clusterName}, {resourcev3.EndpointType, serviceName}} {
		req := envelope.Request{Node: node, TypeURL: t.url}
		for j := range n {
			req.Names = append(req.Names, t.name(j))
		}
		if err := stream.SendMsg(req.Encode()); err != nil {
			return nil, err
		}
		req.Node, req.Version = nil, "0"
		f.acks[i] = req.Encode()
	}
	return f, nil
}

// run receives until the stream ends. The nonces of go-control-plane count the responses
// of a stream.
func (f *floor) run() error {
	for nonce := 1; ; nonce++ {
		var size, kind int
		if err := f.stream.RecvMsg(&size); err != nil {
			return err
		}
		if size > f.large {
			kind = 1
		}
		rest := envelope.Request{Nonce: strconv.Itoa(nonce)}
		if err := f.stream.SendMsg(slices.Concat(f.acks[kind], rest.Encode())); err != nil {
			return err
		}
		f.handled()
	}
}
