package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A server is the control plane in its own process.
type server struct {
	addr string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
}

func startServer(ctx context.Context, resources int) (*server, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.CommandContext(ctx, self, "-serve")} //nolint:gosec // this program itself
	s.cmd.Stderr = os.Stderr
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.out = bufio.NewReader(out)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if s.addr, err = s.line(); err != nil {
		return nil, err
	}
	err = s.do("fill %d", resources)
	return s, err
}

func (s *server) line() (string, error) {
	line, err := s.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the control plane's process ended: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// do gives a command and waits until it is done.
func (s *server) do(format string, args ...any) error {
	if _, err := fmt.Fprintf(s.in, format+"\n", args...); err != nil {
		return err
	}
	_, err := s.line()
	return err
}

func (s *server) stop() {
	_ = s.in.Close() // ends the process
	_ = s.cmd.Wait() // it has nothing more to say
}

// cpu is the processor time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it takes no argument that could be wrong
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// spent is the processor time that f needs, garbage that it leaves included.
func spent(f func() error) (time.Duration, error) {
	runtime.GC()
	before := cpu()
	err := f()
	runtime.GC()
	return cpu() - before, err
}

// median measures several times.
func median(times int, f func(i int) (time.Duration, error)) (time.Duration, error) {
	var all []time.Duration
	for i := range times {
		d, err := f(i)
		if err != nil {
			return 0, err
		}
		all = append(all, d)
	}
	return middle(all), nil
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// compare is the processor time of one call of each of two functions. They take turns, so
// that what else the machine does concerns both.
func compare(f, g func() error) (mine, peer time.Duration, err error) {
	const rounds, enough = 9, 50 * time.Millisecond
	var all [2][]time.Duration
	for range rounds {
		for i, call := range []func() error{f, g} {
			runtime.GC()
			calls, before := 0, cpu()
			for cpu()-before < enough {
				for range 100 {
					if err := call(); err != nil {
						return 0, 0, err
					}
				}
				calls += 100
			}
			all[i] = append(all[i], (cpu()-before)/time.Duration(calls))
		}
	}
	return middle(all[0]), middle(all[1]), nil
}
