// Package process has helpers for benchmark subprocesses. They run a server in a process of
// its own, so that its cost is not measured, and read the processor time of this process.
package process

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// A Child is a second process of this program. It is controlled by lines of text.
type Child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Start starts this program with the given arguments. The context's end kills it.
func Start(ctx context.Context, args ...string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &Child{cmd: exec.CommandContext(ctx, self, args...)} //nolint:gosec // this program itself
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewReader(out)
	return c, c.cmd.Start()
}

// Line waits for a line, and returns it without its end.
func (c *Child) Line() (string, error) {
	line, err := c.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the child process ended: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// Ask sends a command line and returns the line that answers it.
func (c *Child) Ask(format string, args ...any) (string, error) {
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		return "", err
	}
	return c.Line()
}

// Do sends a command line and waits for its confirmation.
func (c *Child) Do(format string, args ...any) error {
	_, err := c.Ask(format, args...)
	return err
}

// Stop closes the child's input, which ends the child, and waits for it.
func (c *Child) Stop() {
	_ = c.in.Close()
	_ = c.cmd.Wait() // the child has no more results
}

// CPU is the processor time that this process has used.
func CPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it takes no argument that could be wrong
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
