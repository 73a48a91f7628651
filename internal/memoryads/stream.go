package memoryads

import (
	"context"
	"fmt"
	"io"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
)

// A protocol is one variant of xDS on one stream. The server's mutex is held
// during its methods.
type protocol interface {
	// read takes a request in and answers it. It returns false if it cannot decode the request.
	read(raw []byte) (decoded bool)
	// relayed notes a response of another server, which the client receives now.
	relayed(raw []byte)
	// change says that resources were set or deleted.
	change(h *holdings, names []string)
	// heartbeat says that resources are still valid.
	heartbeat(h *holdings, names []string)
	// names are those that are subscribed to, of all types.
	names() []string
	// unanswered are the nonces of responses that wait for their ACK or NACK, with the
	// time since which the client has owed it.
	unanswered() map[string]time.Time
}

// A stream is the client's end of an ADS stream.
type stream struct {
	ctx      context.Context //nolint:containedctx // the stream's
	server   *Server
	conn     *conn
	method   string
	number   int // counted over all streams of the server, from 1
	protocol protocol
	asked    map[string]*asked // by type URL

	temperament Temperament // the server's when the stream was opened

	begun bool // a request was read
	heard bool // a response was received
	out   []response
	ended bool
	err   error

	sentAt time.Time // when the client sent the request that is read
	readAt time.Time // of the last request
	atOnce int       // requests that were read then
	muted  bool      // nothing is answered: the client causes a storm
}

// A response waits to be received.
type response struct {
	raw      []byte
	received func()
}

// Send implements [transport.Stream]. It returns when the server has read the
// request; its answers can be received then.
func (st *stream) Send(msg []byte) error {
	sent := time.Now()
	return st.await(func() bool {
		if st.server.faults.deaf {
			return false
		}
		st.sentAt = sent
		st.protocol.read(msg)
		st.server.wake()
		return true
	})
}

// Receive implements [transport.Stream].
func (st *stream) Receive() (raw []byte, err error) {
	err = st.await(func() bool {
		if st.server.faults.holding || len(st.out) == 0 {
			return false
		}
		next := st.out[0]
		st.out = st.out[1:]
		next.received()
		st.heard = true
		raw = next.raw
		return true
	})
	return raw, err
}

// await tries until it succeeds or the stream ends.
func (st *stream) await(try func() bool) error {
	for {
		ready, changed, err := st.attempt(try)
		if ready || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-st.ctx.Done():
			return st.ctx.Err()
		}
	}
}

func (st *stream) attempt(try func() bool) (ready bool, changed <-chan struct{}, err error) {
	s := st.server
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case st.ctx.Err() != nil:
		return false, nil, st.ctx.Err()
	case st.ended && st.err == nil:
		return false, nil, io.EOF
	case st.ended:
		return false, nil, st.err
	}
	return try(), s.changed, nil
}

// respond queues a response.
func (st *stream) respond(m proto.Message, received func()) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("memoryads: %v", err)) // the server made the message itself
	}
	st.out = append(st.out, response{raw, func() {
		st.tell(m)
		received()
	}})
}

func (st *stream) silent() bool { return st.muted || st.server.faults.silent[st.method] }

// begin records a request and checks the rules that both variants share.
func (st *stream) begin(m proto.Message, node *corev3.Node) {
	st.server.requests = append(st.server.requests, m)
	st.tell(m)
	if st.begun == (node != nil) {
		st.violation("a node in a stream's request: %t; want it in the first, and in no other", node != nil)
	}
	st.begun = true
	if st.busy(time.Now()) {
		st.mute("more than %d requests at once", maxAtOnce)
	}
}

// violation records a protocol violation of the client.
func (st *stream) violation(format string, args ...any) {
	where := fmt.Sprintf("stream %d: ", st.number)
	st.server.record.violations = append(st.server.record.violations, where+fmt.Sprintf(format, args...))
}
