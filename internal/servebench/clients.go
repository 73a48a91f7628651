package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
	"github.com/xdsforge/xdsforge/framework/transport"
	"github.com/xdsforge/xdsforge/framework/transport/grpctransport"
	"github.com/xdsforge/xdsforge/internal/envelope"
)

// streamsPerConnection is the number of clients that share a connection.
const streamsPerConnection = 50

// A fleet is a number of clients of a server.
type fleet struct {
	conns   []transport.Conn
	cancel  context.CancelFunc
	running sync.WaitGroup
	left    atomic.Int64 // resources that the clients still wait for in this round
	done    chan time.Time
	failed  chan error
}

// connect starts n clients. names returns the names of a client, and reads whether it reads.
func connect(ctx context.Context, addr string, n int, names func(i int) []string, reads func(i int) bool) (*fleet, error) {
	server, err := bootstrap.NewServer(bootstrap.ServerSpec{URI: "passthrough:///" + addr, ChannelCreds: []bootstrap.CredsSpec{{Type: "insecure"}}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &fleet{cancel: cancel, done: make(chan time.Time, 1), failed: make(chan error, n)}
	for i := range n {
		if reads(i) {
			f.left.Add(int64(len(names(i))))
		}
	}
	for i := range n {
		if i%streamsPerConnection == 0 {
			c, err := grpctransport.New().Dial(server)
			if err != nil {
				return nil, err
			}
			f.conns = append(f.conns, c)
		}
		s, err := f.conns[len(f.conns)-1].OpenStream(ctx, transport.MethodDeltaADS)
		if err != nil {
			return nil, err
		}
		list := names(i)
		node := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), fmt.Sprintf("client-%d", i))
		if err := s.Send((&envelope.DeltaRequest{Node: node, TypeURL: endpointURL, Subscribe: list}).Encode()); err != nil {
			return nil, err
		}
		if reads(i) {
			f.running.Go(func() { f.follow(ctx, s.(transport.PieceReceiver), s) })
		}
	}
	err = f.wait(ctx)
	return f, err
}

// follow reads and acknowledges the responses of one client.
func (f *fleet) follow(ctx context.Context, in transport.PieceReceiver, out transport.Stream) {
	var r envelope.Response
	for {
		pieces, err := in.ReceivePieces()
		if err == nil {
			err = r.ParsePieces(pieces, true)
		}
		if err == nil {
			if f.left.Add(-int64(r.Len())) == 0 {
				f.done <- time.Now()
			}
			err = out.Send((&envelope.DeltaRequest{TypeURL: endpointURL, Nonce: r.Nonce}).Encode())
		}
		if err != nil {
			if ctx.Err() == nil {
				f.failed <- err
			}
			return
		}
	}
}

// expect starts a round in which the clients receive n resources in total.
func (f *fleet) expect(n int) { f.left.Add(int64(n)) }

// wait waits until the clients have all that they expect.
func (f *fleet) wait(ctx context.Context) error {
	_, err := f.last(ctx)
	return err
}

// last returns when the last client received its last resource.
func (f *fleet) last(ctx context.Context) (time.Time, error) {
	timeout := time.NewTimer(2 * time.Minute)
	defer timeout.Stop()
	select {
	case at := <-f.done:
		return at, nil
	case err := <-f.failed:
		return time.Time{}, err
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-timeout.C:
		return time.Time{}, fmt.Errorf("the clients still wait for %d resources", f.left.Load())
	}
}

func (f *fleet) close() {
	f.cancel()
	f.running.Wait()
	for _, c := range f.conns {
		_ = c.Close() // nothing is left to be sent
	}
}
