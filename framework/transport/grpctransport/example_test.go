package grpctransport_test

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"

	"github.com/xdsforge/xdsforge/framework/client"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
)

// The transport uses the program's own dialer. All clients of a pool share it.
func ExampleNew() {
	pool := client.NewPool(grpctransport.New(
		grpctransport.WithMaxReceiveSize(64<<20),
		grpctransport.WithDialOptions(grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		})),
	))
	// Give it to client.New in client.Options, and close it after the clients.
	if err := pool.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
}
