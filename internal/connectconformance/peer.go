package main

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
)

// serve is a server under test. The reference server is a child process, and the runner talks to a proxy before it.
func serve(ctx context.Context, reference string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	request, err := readMessage(os.Stdin)
	if err != nil {
		return err
	}
	child := exec.CommandContext(ctx, reference)
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		return err
	}
	out, err := child.StdoutPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	defer func() { _ = child.Wait() }() // the end of the context kills it
	defer stop()
	if err := writeMessage(in, request); err != nil {
		return err
	}
	response, err := readMessage(out)
	if err != nil {
		return err
	}
	p, err := startProxies() //nolint:contextcheck // it ends with close
	if err != nil {
		return err
	}
	defer p.close()
	version, err := number(request, serverVersion)
	if err != nil {
		return err
	}
	port, err := number(response, serverPort)
	if err != nil {
		return err
	}
	at, err := p.before(ctx, port, version)
	if err != nil {
		return err
	}
	if response, err = replaced(response, serverPort, at); err != nil {
		return err
	}
	if err := writeMessage(os.Stdout, response); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// call is a client under test. The reference client is a child process that sends its requests to proxies.
func call(ctx context.Context, reference string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	p, err := startProxies() //nolint:contextcheck // it ends with close
	if err != nil {
		return err
	}
	defer p.close()
	child := exec.CommandContext(ctx, reference)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	in, err := child.StdinPipe()
	if err != nil {
		return err
	}
	if err := child.Start(); err != nil {
		return err
	}
	passed := p.pass(ctx, os.Stdin, in)
	return errors.Join(passed, in.Close(), child.Wait())
}

// pass passes requests on, with the port of a proxy.
func (p *proxies) pass(ctx context.Context, from io.Reader, to io.Writer) error {
	for {
		request, err := readMessage(from)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		version, err := number(request, clientVersion)
		if err != nil {
			return err
		}
		port, err := number(request, clientPort)
		if err != nil {
			return err
		}
		at, err := p.before(ctx, port, version)
		if err != nil {
			return err
		}
		if request, err = replaced(request, clientPort, at); err != nil {
			return err
		}
		if err := writeMessage(to, request); err != nil {
			return err
		}
	}
}

// portOf returns the port of a TCP address.
func portOf(addr net.Addr) uint64 {
	_, port, err := net.SplitHostPort(addr.String())
	if err != nil {
		return 0
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return 0
	}
	return n
}
