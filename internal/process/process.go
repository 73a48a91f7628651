// Package process has helpers for benchmark programs. They run a part of the program in a process
// of its own, so that its cost is not measured, and measure this process.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"net/rpc/jsonrpc"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrMissed is the error of a program that missed a bound.
var ErrMissed = errors.New("a bound was missed")

// Main runs a program until it is done or interrupted. It exits with 1 if the program fails.
func Main(name string, run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// A Child is a second process of this program that calls [Serve].
type Child struct {
	cmd *exec.Cmd
	rpc *rpc.Client
}

// Start starts this program with the given arguments. The context's end kills it.
func Start(ctx context.Context, args ...string) (*Child, error) {
	cmd, err := command(ctx, args)
	if err != nil {
		return nil, err
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &Child{cmd, jsonrpc.NewClient(pipe{out, in})}, cmd.Start()
}

// Run runs this program with the given arguments and environment to its end.
func Run(ctx context.Context, env []string, args ...string) error {
	cmd, err := command(ctx, args)
	if err != nil {
		return err
	}
	cmd.Env, cmd.Stdout = append(os.Environ(), env...), os.Stdout
	return cmd.Run()
}

func command(ctx context.Context, args []string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, args...) //nolint:gosec // this program itself
	cmd.Stderr = os.Stderr
	return cmd, nil
}

// Call calls a method of the child's receiver. The result may be nil.
func (c *Child) Call(method string, arg, result any) error {
	if err := c.rpc.Call(service+"."+method, arg, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

// Stop closes the child's input, which ends the child, and waits for it.
func (c *Child) Stop() {
	_ = c.rpc.Close()
	_ = c.cmd.Wait() // the child has no more results
}

const service = "child"

// Serve is the child: it serves the methods of a receiver, which have the form that package
// [net/rpc] requires, until the parent stops it.
func Serve(receiver any) error {
	s := rpc.NewServer()
	if err := s.RegisterName(service, receiver); err != nil {
		return err
	}
	s.ServeCodec(jsonrpc.NewServerCodec(pipe{os.Stdin, os.Stdout}))
	return nil
}

type pipe struct {
	io.Reader
	io.WriteCloser
}

// CPU is the processor time that this process has used.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it takes no argument that could be wrong
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Memory returns the statistics after garbage collection.
func Memory() (m runtime.MemStats) {
	runtime.GC()
	runtime.GC() // frees the memory of finalizers
	runtime.ReadMemStats(&m)
	return m
}

// Resident returns the resident memory in bytes, by the content of a file statm of /proc.
func Resident(statm []byte) (int64, error) {
	fields := strings.Fields(string(statm))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm = %q; must have two numbers at least", statm)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}
