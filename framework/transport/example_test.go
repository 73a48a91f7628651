package transport_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/xdsforge/xdsforge"
	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/plugins/cluster"
)

// A counter counts the bytes that control planes send.
type counter struct {
	transport.Transport
	bytes atomic.Int64
}

// Dial implements [transport.Transport].
func (c *counter) Dial(server *bootstrap.Server) (transport.Conn, error) {
	conn, err := c.Transport.Dial(server)
	return countedConn{conn, c}, err
}

type countedConn struct {
	transport.Conn
	counter *counter
}

func (c countedConn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	s, err := c.Conn.OpenStream(ctx, method)
	return countedStream{s, c.counter}, err
}

type countedStream struct {
	transport.Stream
	counter *counter
}

func (s countedStream) Receive() ([]byte, error) {
	msg, err := s.Stream.Receive()
	s.counter.bytes.Add(int64(len(msg)))
	return msg, err
}

// A transport of one's own adds to that of grpc-go.
func Example() {
	config, err := bootstrap.Parse([]byte(`{
		"node": {"id": "n"},
		"xds_servers": [{"server_uri": "127.0.0.1:18000", "channel_creds": [{"type": "insecure"}]}]
	}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	count := &counter{Transport: grpctransport.New()}
	c, err := xdsforge.New(xdsforge.WithBootstrap(config), xdsforge.WithTypes(cluster.Register), xdsforge.WithTransport(count))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	fmt.Println(count.bytes.Load(), "bytes before the first watch")
	// Output: 0 bytes before the first watch
}
