// Command connect is a Connect handler and a Connect client that the resources in a folder configure. With a
// control plane in bootstrap.json instead, not a line changes.
//
//	GRPC_XDS_BOOTSTRAP=bootstrap.json go run .
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync/atomic"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/httpxds"
)

// procedure is the path of a unary call. Generated code has it as a constant, and hides the generic types below.
const procedure = "/shop.v1.Carts/Greet"

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// handler fails each first call, so that the client's route has something to retry.
func handler() http.Handler {
	var calls atomic.Int64
	return connect.NewUnaryHandler(procedure, func(_ context.Context, r *connect.Request[wrapperspb.StringValue]) (*connect.Response[wrapperspb.StringValue], error) {
		if calls.Add(1) == 1 {
			return nil, connect.NewError(connect.CodeUnavailable, errors.New("not ready yet"))
		}
		return connect.NewResponse(wrapperspb.String("hello, " + r.Msg.GetValue())), nil
	})
}

func run() error {
	serving := make(chan error, 1)
	s, err := httpxds.NewServer(handler(), httpxds.OnMode(func(_ net.Addr, err error) { serving <- err }))
	if err != nil {
		return err
	}
	defer s.Close()
	lis, err := net.Listen("tcp4", "127.0.0.1:8081")
	if err != nil {
		return err
	}
	go func() { _ = s.Serve(lis) }()  // until Close
	if err := <-serving; err != nil { // the reason for not serving
		return err
	}

	transport, err := httpxds.NewTransport("xds:///carts")
	if err != nil {
		return err
	}
	defer transport.Close()
	client := connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](&http.Client{Transport: transport}, "http://carts"+procedure)
	response, err := client.CallUnary(context.Background(), connect.NewRequest(wrapperspb.String("Connect")))
	if err != nil {
		return err
	}
	fmt.Println(response.Msg.GetValue())
	return nil
}
