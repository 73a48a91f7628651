package client_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	lrsv3 "github.com/envoyproxy/go-control-plane/envoy/service/load_stats/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/internal/fakelrs"
)

// A loadNetwork is a load reporting server in memory and the network to it, which can delay and
// lose reports.
type loadNetwork struct {
	transport.Transport
	register func(*grpc.Server)

	mu     sync.Mutex
	lis    *bufconn.Listener
	server *grpc.Server
	random *rand.Rand // nil: there are no faults
	lost   fakelrs.Totals
	breaks int // streams that were broken on purpose
}

func newLoadNetwork(register func(*grpc.Server)) *loadNetwork {
	n := &loadNetwork{register: register}
	n.Transport = grpctransport.New(grpctransport.WithDialOptions(grpc.WithContextDialer(
		func(ctx context.Context, _ string) (net.Conn, error) {
			n.mu.Lock()
			lis := n.lis
			n.mu.Unlock()
			return lis.DialContext(ctx)
		})))
	n.start()
	return n
}

func (n *loadNetwork) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lis, n.server = bufconn.Listen(1<<20), grpc.NewServer()
	n.register(n.server)
	go func(lis net.Listener, s *grpc.Server) { _ = s.Serve(lis) }(n.lis, n.server) // ends with Stop
}

func (n *loadNetwork) stop() { n.server.Stop() }

// Dial implements [transport.Transport].
func (n *loadNetwork) Dial(server *bootstrap.Server) (transport.Conn, error) {
	c, err := n.Transport.Dial(server)
	return lossyConn{c, n}, err
}

type lossyConn struct {
	transport.Conn
	network *loadNetwork
}

// OpenStream implements [transport.Conn].
func (c lossyConn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	s, err := c.Conn.OpenStream(ctx, method)
	return &lossyStream{Stream: s, network: c.network, broken: cancel}, err
}

type lossyStream struct {
	transport.Stream
	network *loadNetwork
	broken  context.CancelFunc
	sent    int
}

// Send implements [transport.Stream]. Of ten reports, one cannot be sent, one is lost on
// its way and one is the last that arrives; the stream breaks each time.
func (s *lossyStream) Send(msg []byte) error {
	s.sent++
	switch s.network.fate(s.sent, msg) {
	case refused:
		s.broken()
		return errors.New("broken")
	case lost:
		s.broken()
		return nil
	case last:
		err := s.Stream.Send(msg)
		<-time.NewTimer(time.Millisecond).C // it has arrived
		s.broken()
		return err
	}
	return s.Stream.Send(msg)
}

// The fates of a report.
const (
	refused = iota
	lost
	last
	fine
)

// fate decides about a message. The first of a stream is no report.
func (n *loadNetwork) fate(number int, msg []byte) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if number == 1 || n.random == nil {
		return fine
	}
	fate := min(n.random.IntN(10), fine)
	if fate != fine {
		n.breaks++
	}
	if fate == lost {
		m := new(lrsv3.LoadStatsRequest)
		if err := proto.Unmarshal(msg, m); err == nil {
			n.lost.Add(m.GetClusterStats())
		}
	}
	return fate
}

// A countingTransport tells of the streams that are opened.
type countingTransport struct {
	transport.Transport
	opened func()
}

// Dial implements [transport.Transport].
func (c countingTransport) Dial(server *bootstrap.Server) (transport.Conn, error) {
	conn, err := c.Transport.Dial(server)
	return countingConn{conn, c.opened}, err
}

type countingConn struct {
	transport.Conn
	opened func()
}

// OpenStream implements [transport.Conn].
func (c countingConn) OpenStream(ctx context.Context, method string) (transport.Stream, error) {
	c.opened()
	return c.Conn.OpenStream(ctx, method)
}
