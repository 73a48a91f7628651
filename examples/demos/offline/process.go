package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/xdsforge/xdsforge/framework/bootstrap"
)

// A process is a run of the program.
type process struct {
	cmd    *exec.Cmd
	input  io.Closer
	states chan state // closed when the process ends
	ended  chan struct{}
	last   state
}

// startProcess runs the program with a bootstrap whose only server has the URI.
func startProcess(ctx context.Context, store, server string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, os.Args[0]), states: make(chan state), ended: make(chan struct{})} //nolint:gosec // this program
	config := fmt.Sprintf(`{"node": {"id": "shop-1"}, "xds_servers": [{"server_uri": %q, "channel_creds": [{"type": "insecure"}]}]}`, server)
	p.cmd.Env = append(os.Environ(), programDir+"="+store, bootstrap.EnvContent+"="+config, bootstrap.EnvFile+"=")
	p.cmd.Stderr = os.Stderr
	input, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.input = input
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.read(output)
	return p, nil
}

// read passes the lines of the process on.
func (p *process) read(output io.Reader) {
	defer close(p.ended)
	defer close(p.states)
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		var s state
		if json.Unmarshal(lines.Bytes(), &s) == nil { // the last line of a killed process may be incomplete
			p.states <- s
		}
	}
}

// await waits until the state of the process satisfies a condition. It fails if a call failed, or if the
// typed client lost its resource.
func (p *process) await(ctx context.Context, condition func(state) bool) (state, error) {
	for {
		select {
		case s, ok := <-p.states:
			switch {
			case !ok:
				return p.last, errors.New("the program has ended")
			case s.Failed > 0:
				return s, fmt.Errorf("a call failed: %s", s.Error)
			case s.Unusable > 0:
				return s, errors.New("the typed client lost its resource")
			}
			if p.last = s; condition(s) {
				return s, nil
			}
		case <-ctx.Done():
			return p.last, fmt.Errorf("%w in state %+v", context.Cause(ctx), p.last)
		}
	}
}

// kill kills the process, as kill -9 does, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	p.wait()
}

// wait reads the rest of the output, and waits for the end of the process.
func (p *process) wait() {
	for s := range p.states {
		p.last = s
	}
	<-p.ended
	_ = p.cmd.Wait() // it was killed, or its states are known
}

// stop ends the process by the end of its input.
func (p *process) stop() {
	_ = p.input.Close()
	p.wait()
}

// A backend is a server that answers with its name.
type backend struct {
	name, port string
	server     *grpc.Server
}

func newBackend(ctx context.Context, name string) (*backend, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	b := &backend{name: name}
	_, b.port, _ = net.SplitHostPort(l.Addr().String())
	b.server = grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		if err := s.RecvMsg(new(emptypb.Empty)); err != nil {
			return err
		}
		return s.SendMsg(wrapperspb.String(name))
	}))
	go func() { _ = b.server.Serve(l) }() // it ends with Stop
	return b, nil
}
