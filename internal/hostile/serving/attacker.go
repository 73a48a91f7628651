package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/xdsforge/xdsforge/internal/process"
)

// An attacker is the process of an attack. The parent calls its exported methods.
type attacker struct {
	Target
	ends  string     // as of the attack
	ended chan error // the first end of a stream
	wire  atomic.Int64
	ready chan error    // the attack is prepared
	start chan struct{} // the attack may begin
	done  chan error

	mu      sync.Mutex
	verdict string
}

// A Target is the daemon of an attack.
type Target struct {
	Attack    string // name
	ADS, HTTP string // addresses
}

// An Outcome is the attacker's view of its attack.
type Outcome struct {
	Wire    int64
	Verdict string // the status of its last stream; empty: the server did not end it
}

// niceness of the attacker's process. The victim must wait for the server, not for the attacker's processor time.
const niceness = 10

// serveAttacker is the attacker's process.
func serveAttacker() error {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness); err != nil {
		return err
	}
	return process.Serve(&attacker{ended: make(chan error, 1), ready: make(chan error, 1), start: make(chan struct{}), done: make(chan error, 1)})
}

// Prepare encodes the messages of the attack.
func (a *attacker) Prepare(t Target, _ *struct{}) error {
	x, err := find(t.Attack)
	if err != nil {
		return err
	}
	a.Target, a.ends = t, x.ends
	go func() {
		err := x.run(a)
		select {
		case a.ready <- err: // it did not begin
		default:
		}
		a.done <- err
	}()
	return <-a.ready
}

// begin waits until the measurement has started. An attack calls it once it is prepared.
func (a *attacker) begin() {
	a.ready <- nil
	<-a.start
}

// Attack attacks.
func (a *attacker) Attack(_ struct{}, o *Outcome) error {
	close(a.start)
	err := <-a.done
	a.mu.Lock()
	defer a.mu.Unlock()
	*o = Outcome{Wire: a.wire.Load(), Verdict: a.verdict}
	return err
}

// address is the attacker's. The victim has another one, because clients of one address count as one.
var address = net.IPv4(127, 0, 0, 2)

// dial opens a connection to the daemon.
func dial(ctx context.Context, to string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: address}}
	return d.DialContext(ctx, "tcp", to)
}

// connect opens a connection of gRPC.
func (a *attacker) connect(opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	opts = append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(dial),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(1<<30), grpc.MaxCallSendMsgSize(1<<30)))
	return grpc.NewClient("passthrough:///"+a.ADS, opts...)
}

// small are the options of a connection whose server cannot send much before the client reads.
func small() []grpc.DialOption {
	return []grpc.DialOption{grpc.WithStaticStreamWindowSize(1 << 16), grpc.WithStaticConnWindowSize(1 << 16)}
}

// raw passes encoded messages through.
type raw struct{}

// Marshal implements [encoding.Codec].
func (raw) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

// Unmarshal implements [encoding.Codec].
func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

// Name implements [encoding.Codec].
func (raw) Name() string { return "proto" }

// Methods of the server.
const (
	whole   = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
	delta   = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
	reports = "/envoy.service.load_stats.v3.LoadReportingService/StreamLoadStats"
)

// A call is a stream of the attacker.
type call struct {
	grpc.ClientStream
	attacker *attacker
	ended    chan<- error
	reading  sync.Once
}

// open opens a stream on a connection of its own.
func (a *attacker) open(method string, opts ...grpc.DialOption) (*call, error) {
	cc, err := a.connect(opts...)
	if err != nil {
		return nil, err
	}
	return a.openOn(cc, method)
}

func (a *attacker) openOn(cc *grpc.ClientConn, method string) (*call, error) {
	s, err := cc.NewStream(context.Background(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	return &call{ClientStream: s, attacker: a, ended: a.ended}, err
}

// send sends a message. That the stream has ended is no error here.
func (c *call) send(b []byte) bool {
	c.attacker.wire.Add(int64(len(b)))
	return c.SendMsg(b) == nil
}

// read reads and forgets responses from now on.
func (c *call) read() {
	c.reading.Do(func() {
		go func() {
			for {
				var b []byte
				if err := c.RecvMsg(&b); err != nil {
					select {
					case c.ended <- err:
					default: // another stream has ended before
					}
					return
				}
			}
		}()
	})
}

// response reads a response.
func (c *call) response() ([]byte, error) {
	var b []byte
	err := c.RecvMsg(&b)
	return b, err
}

// patience is the time for an end that must come. The server handles the requests of one client in turn.
const patience = 45 * time.Second

// settle waits until a stream has ended, or for a time if none must, and notes the verdict.
func (c *call) settle(d time.Duration) error {
	c.read()
	if c.attacker.ends != "" {
		d = patience
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case err := <-c.attacker.ended:
		c.attacker.judge(fmt.Sprint(err))
	case <-t.C:
	}
	return nil
}

func (a *attacker) judge(verdict string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.verdict = verdict
}
